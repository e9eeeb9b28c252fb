// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/examples/election/remote"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

// TestConformance checks that a database keeps the contract over a connection.
func TestConformance(t *testing.T) {
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database {
		engine := enginetest.InProcess(tb)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		served := make(chan error)
		ctx, stop := contextOf(tb)
		go func() { served <- remote.Serve(ctx, listener, engine) }()
		tb.Cleanup(func() {
			stop()
			if err := <-served; err != nil {
				tb.Error(err)
			}
		})
		db, err := remote.Dial(listener.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { db.Close() })
		return db
	})
}

func contextOf(tb testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(tb.Context()))
}
