// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/tuple"
)

// hostLease is how long a host may be silent until others take it for dead. On a busy machine a transaction takes
// seconds, and hosts with shorter leases lose them all the time.
const hostLease = 5 * time.Second

// actors are hosts with virtual actors, and callers of them.
type actors struct {
	*chaos
	network *hosttest.Network

	mu      sync.Mutex
	n       int
	begun   int
	handled map[string]bool // the calls that a handler has got
	results map[string]result
}

// result is what the caller of an actor got.
type result struct {
	actor string
	count int64
	err   error
}

func newActors(c *chaos) *actors {
	return &actors{chaos: c, network: hosttest.NewNetwork(), handled: map[string]bool{}, results: map[string]result{}}
}

func (a *actors) acknowledged() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// tally is an actor that keeps its count in memory, and writes it without reading it again: a commit that
// landed late would give two calls one count.
type tally struct {
	actors *actors
	db     kv.Database // under the activation's fence
	id     string
	count  int64
}

func (a *actors) open(ctx context.Context, at *host.Activation) (*tally, error) {
	t := &tally{actors: a, db: at.Fence().Under(a.db), id: at.Key().ID}
	stored, err := kv.ReadTransact(ctx, t.db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get(countKey(t.id)).Get(ctx)
	})
	if len(stored) == 8 {
		t.count = int64(binary.BigEndian.Uint64(stored))
	}
	return t, err
}

// add counts a call, and returns its number.
func (t *tally) add(ctx context.Context, call string) (int64, error) {
	t.actors.noteHandled(call)
	next := t.count + 1
	value := binary.BigEndian.AppendUint64(nil, uint64(next))
	err := t.db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set(countKey(t.id), value)
		tx.Set(callKey(t.id, call), value)
		return nil
	})
	if err != nil {
		return 0, err
	}
	t.count = next
	return next, nil
}

func countKey(actor string) []byte { return tuple.Tuple{"actors", "count", actor}.MustPack() }

func callKey(actor, call string) []byte {
	return tuple.Tuple{"actors", "call", actor, call}.MustPack()
}

func (a *actors) noteHandled(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handled[call] {
		a.t.Errorf("actors: the call %s was handled twice", call)
	}
	a.handled[call] = true
}

func (a *actors) work(ctx context.Context, client int, random *rand.Rand) {
	for ctx.Err() == nil {
		if err := a.workAs(ctx, name(client), random); err != nil {
			_ = sleep.For(ctx, duration/10)
		}
	}
}

// workAs is a host for a while, and calls the actors of all hosts.
func (a *actors) workAs(ctx context.Context, name string, random *rand.Rand) error {
	o := host.Options{Name: name, Transport: a.network.Listen(name), Lease: hostLease, Path: []string{"actors"}, Logger: slog.New(slog.DiscardHandler)}
	h := must[*host.Host](a.t)(host.New(a.db, o))
	kind := must[*host.Kind[*tally]](a.t)(host.Register(h, "tally", a.open))
	add := must[*host.Method[string, int64]](a.t)(host.Handle(kind, "add", (*tally).add))
	defer func() {
		_ = a.bounded(context.WithoutCancel(ctx), random, h.Stop) // without an answer, the lease lapses
	}()
	if err := a.bounded(ctx, random, h.Start); err != nil {
		return err
	}
	for range 20 * turn {
		if err := a.call(ctx, random, add); ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// call calls an actor, and notes what became of it.
func (a *actors) call(ctx context.Context, random *rand.Rand, add *host.Method[string, int64]) error {
	actor, call := anyName(random), a.begin()
	var count int64
	err := a.bounded(ctx, random, func(ctx context.Context) (err error) {
		count, err = add.Call(ctx, actor, call)
		return err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results[call] = result{actor, count, err}
	if err == nil {
		a.n++
	}
	return err
}

// begin returns the name of a call.
func (a *actors) begin() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun++
	return fmt.Sprint("call-", a.begun)
}

// check fails the test where an acknowledged call is not counted, one that certainly failed is, or the counts of
// an actor's calls are not the numbers from 1.
func (a *actors) check(ctx context.Context) {
	stored := map[string]map[string]int64{} // by actor and call
	for i := range clients {
		actor := fmt.Sprint("name-", i)
		stored[actor] = a.checkActor(ctx, actor)
	}
	for call, r := range a.results {
		count, found := stored[r.actor][call]
		unknown := errors.Is(r.err, host.ErrOutcomeUnknown) || kv.IsOutcomeUnknown(r.err)
		switch {
		case r.err == nil && (!found || count != r.count):
			a.t.Errorf("actors: the call %s of %s got %d, and %d is stored", call, r.actor, r.count, count)
		case r.err != nil && !unknown && found:
			a.t.Errorf("actors: the call %s of %s is stored, though it failed: %v", call, r.actor, r.err)
		}
	}
	a.t.Logf("actors: %d calls, of them %d handled", len(a.results), len(a.handled))
}

// checkActor returns the counts of the calls of an actor.
func (a *actors) checkActor(ctx context.Context, actor string) map[string]int64 {
	calls, at := map[string]int64{}, map[int64]string{}
	prefix := tuple.Tuple{"actors", "call", actor}.MustPack()
	last, err := kv.ReadTransact(ctx, a.db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get(countKey(actor)).Get(ctx)
	})
	check(a.t, err)
	for _, pair := range a.readAll(ctx, prefix) {
		key := must[tuple.Tuple](a.t)(tuple.Unpack(pair.Key))
		call, count := key[3].(string), int64(binary.BigEndian.Uint64(pair.Value))
		if other := at[count]; other != "" {
			a.t.Errorf("actors: %s has counted %s and %s as %d", actor, other, call, count)
		}
		calls[call], at[count] = count, call
	}
	for n := range int64(len(calls)) {
		if at[n+1] == "" {
			a.t.Errorf("actors: of the %d calls of %s none is number %d", len(calls), actor, n+1)
		}
	}
	if n := len(calls); n > 0 && (len(last) != 8 || binary.BigEndian.Uint64(last) != uint64(n)) {
		a.t.Errorf("actors: %s has %d calls, and the count %x", actor, n, last)
	}
	return calls
}
