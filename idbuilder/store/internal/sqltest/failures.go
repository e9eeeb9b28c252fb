// SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// work reserves from several goroutines until ctx ends, ignores errors, and calls got after
// each range.
func work(ctx context.Context, stores []store.Store, given *ledger.Ledger, got func()) *sync.WaitGroup {
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for ctx.Err() == nil {
				r, err := stores[g%len(stores)].Reserve(ctx, "orders", ten)
				if err == nil {
					given.Add(r)
					got()
				}
			}
		})
	}
	return &group
}

// testCrash kills the server in the middle of reservations, starts it again, and
// stops it for longer than a call may take.
func testCrash(t *testing.T, h Home) {
	server := h.Durable(t)
	at := h.NewURL(t, server)
	stores := []store.Store{h.Open(t, at, Options{Strict: true}), h.Open(t, at, Options{Strict: true})}
	impatient := h.Open(t, at, Options{CallTimeout: 100 * time.Millisecond})
	check(t, stores[0].Init(t.Context()))
	ctx, cancel := context.WithCancel(within(t))
	var given ledger.Ledger
	progress := make(chan struct{})
	group := work(ctx, stores, &given, func() {
		select {
		case progress <- struct{}{}:
		default:
		}
	})
	for range 50 {
		wait(t, ctx, progress)
	}
	server.Restart(t)
	wait(t, ctx, progress)
	server.Pause(t)
	if _, err := impatient.Reserve(ctx, "orders", ten); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("a paused server: %v, want context.DeadlineExceeded", err)
	}
	server.Resume(t)
	for range 50 {
		wait(t, ctx, progress)
	}
	cancel()
	group.Wait()
	if err := given.Check(true); err != nil {
		t.Error(err)
	}
}

func wait(t *testing.T, ctx context.Context, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
}

// testCut cuts connections in the middle of reservations: requests are lost, and so are
// answers to requests that the server has carried out.
func testCut(t *testing.T, h Home) {
	at, direct := h.newDatabase(t)
	proxy := servers.NewProxy(t, h.Shared(t).Addr, func(c servers.Chunk) bool {
		return c.Answer && rand.IntN(12) == 0 || rand.IntN(40) == 0
	})
	stores := []store.Store{h.Open(t, proxyURL(t, at, proxy), Options{}), direct}
	var given ledger.Ledger
	var failed atomic.Int64
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for range 40 {
				r, err := stores[g%2].Reserve(within(t), "orders", ten)
				if err != nil {
					failed.Add(1)
					continue
				}
				given.Add(r)
			}
		})
	}
	group.Wait()
	if err := given.Check(true); err != nil {
		t.Error(err)
	}
	end, err := direct.Sequence(t.Context(), "orders")
	check(t, err)
	lost := end.Value/10 - int64(given.Len())
	t.Logf("%d reservations failed, %d of them after the server had carried them out", failed.Load(), lost)
	if lost <= 0 || lost > failed.Load() {
		t.Errorf("%d failed, %d of them after the server had carried them out", failed.Load(), lost)
	}
}

// testStalledClient stops a client just before it reads the answer to a
// statement that changes the sequence: other clients go on.
func testStalledClient(t *testing.T, h Home) {
	at, direct := h.newDatabase(t)
	_, err := direct.Reserve(t.Context(), "orders", ten)
	check(t, err)
	stalled, goOn := make(chan struct{}, 100), make(chan struct{})
	var changing sync.Map // connections
	var armed atomic.Bool
	proxy := servers.NewProxy(t, h.Shared(t).Addr, func(c servers.Chunk) bool {
		if !c.Answer && armed.Load() && bytes.Contains(c.Data, []byte("UPDATE id_sequences")) {
			changing.Store(c.Connection, true)
		}
		if _, found := changing.Load(c.Connection); found && c.Answer {
			stalled <- struct{}{}
			<-goOn
		}
		return false
	})
	slow := h.Open(t, proxyURL(t, at, proxy), Options{})
	armed.Store(true)
	answer := make(chan error, 1)
	go func() {
		_, err := slow.Reserve(t.Context(), "orders", ten)
		answer <- err
	}()
	wait(t, within(t), stalled)
	for range 3 {
		if _, err := direct.Reserve(within(t), "orders", ten); err != nil {
			t.Error(err)
		}
	}
	close(goOn)
	check(t, <-answer)
}
