// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// awaitState takes states until one fits.
func awaitState[T any](t *testing.T, next func() (T, error, bool), fits func(T) bool) {
	t.Helper()
	for {
		v, err, ok := next()
		if !ok || err != nil {
			t.Fatalf("the watch ended: %v", err)
		}
		if fits(v) {
			return
		}
	}
}

// TestWatch changes, deletes and creates a record, its tenant too, and sees each last
// state.
func TestWatch(t *testing.T) {
	for name, engine := range map[string]kv.Database{"plain": enginetest.Open(t), "hostile": faults.HostileT(t, enginetest.Open(t))} {
		t.Run(name, func(t *testing.T) {
			db := openWith(t, engine, persistable.Options{WatchPoll: time.Millisecond})
			s := OrderStoreOf(db, "t")
			next, stop := iter.Pull2(s.Watch(ctx, 1))
			defer stop()
			isGone := func(o *Order) bool { return o == nil }
			awaitState(t, next, isGone)
			for round := range int64(3) {
				check(t, s.CreateWithID(ctx, 1, &Order{TenantID: "t", Number: "1", CreatedAt: day0, Amount: 1}))
				awaitState(t, next, func(o *Order) bool { return o != nil && o.Amount == 1 })
				for n := range int64(5) {
					check(t, s.Update(ctx, 1, func(o *Order) error { o.Amount = 10 + n; return nil }))
					awaitState(t, next, func(o *Order) bool { return o.Amount == 10+n })
				}
				if round == 1 {
					check(t, db.RemoveDirectory(ctx, "tenants", "t"))
				} else {
					check(t, s.Delete(ctx, 1))
				}
				awaitState(t, next, isGone)
			}
		})
	}
}

// TestWatchOfChunks changes the last value of a record of several.
func TestWatchOfChunks(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		a := NewArticle(Article{Section: "s", Slug: "a", Published: day0, Body: make([]byte, 350_000)})
		check(t, s.Create(ctx, a))
		next, stop := iter.Pull2(s.Watch(ctx, a.ID))
		defer stop()
		for n := range byte(3) {
			awaitState(t, next, func(a *Article) bool { return a.Body[349_999] == n })
			a.Body[349_999] = n + 1
			check(t, s.Save(ctx, a))
		}
	})
}

// TestWatchYieldsChangesOnly lets watches fire without a change: nothing is yielded in
// thirty looks.
func TestWatchYieldsChangesOnly(t *testing.T) {
	engine := &faulty{Database: faults.HostileT(t, enginetest.Open(t))}
	db := openWith(t, engine, persistable.Options{WatchPoll: time.Millisecond})
	s := OrderStoreOf(db, "t")
	firstOrder(t, s)
	ended, cancel := context.WithCancelCause(ctx)
	engine.begin(nil, func(n int, commit func() error) error {
		if n == 30 {
			cancel(errRefused)
		}
		return commit()
	})
	states := 0
	for _, err := range s.Watch(ended, 1) {
		if err != nil {
			wantError(t, err, errRefused)
			break
		}
		states++
	}
	if states != 1 {
		t.Errorf("%d states of a record that did not change", states)
	}
	for v, err := range s.Watch(ended, 1) {
		if v != nil || !errors.Is(err, errRefused) {
			t.Errorf("after the end of the context: %v, %v", v, err)
		}
	}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		for _, err := range s.In(tx).Watch(ctx, 1) {
			if err == nil {
				t.Error("a bound store watches")
			}
		}
		return nil
	}))
}
