// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
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

// watchLog is an engine that notes the watches that it gives.
type watchLog struct {
	kv.Database
	mu  sync.Mutex
	all []kv.Future[struct{}]
}

func (l *watchLog) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return &watchLogTx{tx, l}, err
}

// outstanding returns how many watches are not finished.
func (l *watchLog) outstanding() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if !f.Ready() {
			n++
		}
	}
	return n
}

type watchLogTx struct {
	kv.Transaction
	log *watchLog
}

func (t *watchLogTx) Watch(key []byte) kv.Future[struct{}] {
	f := t.Transaction.Watch(key)
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	t.log.all = append(t.log.all, f)
	return f
}

const rarely = time.Hour // an interval for polls that no test needs

// followFirst runs a test in a bubble of made-up time with a store that has the order 1,
// and a watch of it that has taken its first state.
func followFirst(t *testing.T, poll time.Duration, test func(t *testing.T, engine *faulty, s *OrderStore, next func() (*Order, error, bool))) {
	synctest.Test(t, func(t *testing.T) {
		watches := &watchLog{Database: enginetest.InProcess(t)}
		engine := &faulty{Database: watches}
		s := OrderStoreOf(openWith(t, engine, persistable.Options{WatchPoll: poll}), "t")
		firstOrder(t, s)
		next, stop := iter.Pull2(s.Watch(ctx, 1))
		defer stop()
		awaitState(t, next, func(o *Order) bool { return o != nil })
		test(t, engine, s, next)
		stop()
		synctest.Wait()
		if n := watches.outstanding(); n > 0 || len(watches.all) == 0 {
			t.Errorf("%d of %d watches are left", n, len(watches.all))
		}
	})
}

// within fails the test if fn takes as long.
func within(t *testing.T, limit time.Duration, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took >= limit {
		t.Errorf("it took %v", took)
	}
}

func setAmount(t *testing.T, s *OrderStore, n int64) {
	t.Helper()
	check(t, s.Update(ctx, 1, func(o *Order) error { o.Amount = n; return nil }))
}

// TestWatchWakes sees each last change without waiting for a poll, also one that comes
// between the read of Watch and the arming of its watches, and leaves no watch behind.
func TestWatchWakes(t *testing.T) {
	followFirst(t, rarely, func(t *testing.T, engine *faulty, s *OrderStore, next func() (*Order, error, bool)) {
		within(t, rarely, func() {
			for n := range int64(4) {
				setAmount(t, s, 10*n+1)
				setAmount(t, s, 10*n+2)
				awaitState(t, next, func(o *Order) bool { return o.Amount == 10*n+2 })
			}
			other := OrderStoreOf(open(t, engine.Database), "t")
			setAmount(t, s, 50)
			changed := int64(50)
			engine.begin(nil, func(_ int, commit func() error) error {
				if changed < 53 { // the commit of a look, which has read the record
					changed++
					setAmount(t, other, changed)
				}
				return commit()
			})
			awaitState(t, next, func(o *Order) bool { return o.Amount == 53 })
			engine.begin(nil, nil)
			check(t, s.Delete(ctx, 1))
			awaitState(t, next, func(o *Order) bool { return o == nil })
			firstOrder(t, s)
			awaitState(t, next, func(o *Order) bool { return o != nil })
		})
	})
}

// TestWatchOfMovedDirectory moves the directory away and back. That fires no watch, but
// is seen after thirty intervals.
func TestWatchOfMovedDirectory(t *testing.T) {
	followFirst(t, time.Second, func(t *testing.T, engine *faulty, _ *OrderStore, next func() (*Order, error, bool)) {
		move := func(from, to string) {
			check(t, second(directory.Root().Move(ctx, engine, []string{"tenants", from}, []string{"tenants", to})))
		}
		within(t, 32*time.Second, func() {
			move("t", "u")
			awaitState(t, next, func(o *Order) bool { return o == nil })
		})
		within(t, 2*time.Second, func() {
			move("u", "t")
			awaitState(t, next, func(o *Order) bool { return o != nil })
		})
	})
}

// TestWatchEndsWithAnError closes the engine, and damages the record.
func TestWatchEndsWithAnError(t *testing.T) {
	ends := func(t *testing.T, next func() (*Order, error, bool)) error {
		_, err, ok := next()
		if _, _, more := next(); err == nil || !ok || more {
			t.Errorf("%v, more: %t", err, more)
		}
		return err
	}
	followFirst(t, rarely, func(t *testing.T, engine *faulty, _ *OrderStore, next func() (*Order, error, bool)) {
		check(t, engine.Close())
		within(t, rarely, func() { wantError(t, ends(t, next), kv.ErrClosed) })
	})
	followFirst(t, rarely, func(t *testing.T, engine *faulty, s *OrderStore, next func() (*Order, error, bool)) {
		d := must[*directory.Directory](t)(directory.Root().Open(ctx, engine, s.Path()))
		key := recordKey(must[[]byte](t)(d.Prefix()), "Order", int64(1))
		check(t, engine.Transact(ctx, func(tx kv.Transaction) error { tx.Set(key, []byte("damaged")); return nil }))
		within(t, rarely, func() { wantAs[*persistable.RecordError](t, ends(t, next)) })
	})
}

// TestWatchWithoutRoom watches where the engine has no room for another watch: it looks
// once an interval, and no more often.
func TestWatchWithoutRoom(t *testing.T) {
	followFirst(t, time.Second, func(t *testing.T, engine *faulty, s *OrderStore, _ func() (*Order, error, bool)) {
		tx := must[kv.Transaction](t)(engine.Database.(*watchLog).Database.Begin())
		for range kv.MaxWatches {
			t.Cleanup(tx.Watch([]byte("other")).Cancel)
		}
		check(t, tx.Commit(ctx))
		next, stop := iter.Pull2(s.Watch(ctx, 1))
		defer stop()
		looks := 0
		engine.begin(nil, func(_ int, commit func() error) error {
			if looks++; looks > 1000 {
				return errors.New("too many looks")
			}
			return commit()
		})
		awaitState(t, next, func(o *Order) bool { return o.Amount == 0 })
		other := OrderStoreOf(open(t, engine.Database), "t")
		time.AfterFunc(10*time.Second+time.Second/2, func() { setAmount(t, other, 2) })
		awaitState(t, next, func(o *Order) bool { return o.Amount == 2 })
		engine.begin(nil, nil)
		if looks < 10 || looks > 12 {
			t.Errorf("%d looks in ten intervals", looks)
		}
	})
}
