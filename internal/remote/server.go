// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"net"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Serve serves db to every client that connects, until ctx ends; then it closes the listener
// and all connections and returns nil. Else it returns the listener's error.
func Serve(ctx context.Context, l net.Listener, db kv.Database) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		connections.Go(func() { serveConn(ctx, conn, db, true) })
	}
}
