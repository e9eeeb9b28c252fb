// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"net"
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

// TestCallsAfterTheEnd uses transactions after the function that they were for: the calls fail, until Reset
// makes the transaction as new.
func TestCallsAfterTheEnd(t *testing.T) {
	db := dial(t, serve(t))
	for range 200 {
		var left kv.Transaction
		//persistvet:ignore txescape the test calls a transaction after its end
		if err := db.Transact(t.Context(), func(tx kv.Transaction) error { left = tx; return nil }); err != nil {
			t.Fatal(err)
		}
		left.Cancel()
		if _, err := left.Get([]byte("k")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionCancelled {
			t.Fatalf("a read after the end: %v", err)
		}
		left.Reset()
		if _, err := left.Get([]byte("k")).Get(t.Context()); err != nil {
			t.Fatalf("a read after Reset: %v", err)
		}
		left.Release()
	}
}

// TestReconnect loses the connection: transactions that are under way fail, and further ones use another.
func TestReconnect(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	engine := enginetest.InProcess(t)
	serveOnce := func(l net.Listener) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- remote.Serve(ctx, l, engine) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	stop := serveOnce(listener)
	db := dial(t, listener.Addr().String())
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	tx.Set([]byte("k"), []byte("v"))
	if _, err := tx.Get([]byte("k")).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := tx.Get([]byte("k")).Get(t.Context()); kv.CodeOf(err) != kv.CodeConnectionFailed || !errors.Is(err, kv.ErrClosed) || kv.IsOutcomeUnknown(err) {
		t.Errorf("a read: %v", err)
	}
	if err := tx.Commit(t.Context()); kv.CodeOf(err) != kv.CodeConnectionFailed || kv.IsOutcomeUnknown(err) {
		t.Errorf("a commit that was not sent: %v", err)
	}
	if listener, err = net.Listen("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer serveOnce(listener)()
	if got, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get([]byte("k")).Get(t.Context()) }); err != nil || got != nil {
		t.Errorf("after the program is back: %q, %v", got, err)
	}
}
