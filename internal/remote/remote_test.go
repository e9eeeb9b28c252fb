// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"testing"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

// serve serves an engine until the test ends, and returns its address.
func serve(tb testing.TB) string {
	engine := enginetest.InProcess(tb)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error)
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	go func() { served <- remote.Serve(ctx, listener, engine) }()
	tb.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return listener.Addr().String()
}

func dial(tb testing.TB, address string) *remote.Database {
	db, err := remote.Dial(address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// TestConformance checks that a database keeps the contract over a connection.
func TestConformance(t *testing.T) {
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return dial(tb, serve(tb)) })
}

// TestCallsAfterTheEnd uses transactions after the function that they were for: the calls fail, and the
// server, which has let go of them, does not wait for what came before.
func TestCallsAfterTheEnd(t *testing.T) {
	db := dial(t, serve(t))
	for range 200 {
		var left kv.Transaction
		//persistvet:ignore txescape the test calls a transaction after its end
		if err := db.Transact(t.Context(), func(tx kv.Transaction) error { left = tx; return nil }); err != nil {
			t.Fatal(err)
		}
		left.Cancel()
		if _, err := left.Get([]byte("k")).Get(t.Context()); !errors.Is(err, kv.ErrClosed) {
			t.Fatalf("a read after the end: %v", err)
		}
	}
}

// TestCallOutOfTurn leaves a connection while a call waits for one before it that never comes: the
// server stops all the same.
func TestCallOutOfTurn(t *testing.T) {
	client, err := rpc.Dial("tcp", serve(t))
	if err != nil {
		t.Fatal(err)
	}
	client.Go("KV.Do", remote.Request{Tx: 1, Number: 5}, new(remote.Response), nil)
	if err := client.Call("KV.Do", remote.Request{Tx: 2}, new(remote.Response)); err != nil {
		t.Fatal(err) // the server has read both
	}
	client.Close()
}
