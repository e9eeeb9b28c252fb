// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"net"
	"net/rpc"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// service is the name under which calls are served.
const service = "KV"

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
		connections.Go(func() { serveConn(ctx, conn, db) })
	}
}

func serveConn(ctx context.Context, conn net.Conn, db kv.Database) {
	ctx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s := &Session{db: db, ctx: ctx, transactions: map[uint64]*transaction{}}
	server := rpc.NewServer()
	if err := server.RegisterName(service, s); err != nil {
		panic(err)
	}
	server.ServeConn(&observedConn{conn, s.close}) // which waits for all calls
	stop()
	s.close()
}

// observedConn calls ended when the connection is.
type observedConn struct {
	net.Conn
	ended func()
}

// Read implements [net.Conn].
func (c *observedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.ended()
	}
	return n, err
}
