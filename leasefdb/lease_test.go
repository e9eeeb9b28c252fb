// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// silentDatabase is an engine that can stop answering: transactions that it begins then
// fail with a retryable error.
type silentDatabase struct {
	kv.Database
	down, noWatches atomic.Bool
}

func (s *silentDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return s.Database.Transact(ctx, func(tx kv.Transaction) error {
		if s.down.Load() {
			return kv.NewError(kv.CodeProcessBehind, "made up")
		}
		return fn(silentTx{tx, s})
	})
}

type silentTx struct {
	kv.Transaction
	silentDatabase *silentDatabase
}

func (t silentTx) Watch(key []byte) kv.Future[struct{}] {
	if t.silentDatabase.noWatches.Load() {
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTooManyWatches, "made up")))
	}
	return t.Transaction.Watch(key)
}

const ten = 10 * time.Second

// TestHeldForLong checks that a lease that is kept stays its holder's, and that
// its context lives.
func TestHeldForLong(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		names := openNames(t, db)
		lease := must[*leasefdb.Lease](t)(names.Acquire(ctx, "job", leasefdb.Claim{Duration: ten}))
		waiting, stop := context.WithTimeout(ctx, 5*time.Minute)
		defer stop()
		_, err := names.Acquire(waiting, "job", leasefdb.Claim{Holder: "other"})
		wantError(t, err, context.DeadlineExceeded)
		check(t, lease.Context().Err())
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { return lease.Check(ctx, tx) }))
		if left := time.Until(lease.Grant().Deadline()); left < ten/2 || left > ten {
			t.Errorf("%v are left of the lease", left)
		}
		check(t, lease.Release(ctx))
		wantError(t, context.Cause(lease.Context()), leasefdb.ErrReleased)
	})
}

// TestTakeover checks that the lease of a dead holder goes to a process that
// has watched it for its full duration, not sooner, and that the holder's
// context has ended by then.
func TestTakeover(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		mine := &silentDatabase{Database: db}
		lease := must[*leasefdb.Lease](t)(openNames(t, mine).Acquire(ctx, "job", leasefdb.Claim{Holder: "me", Duration: ten}))
		time.Sleep(time.Minute)
		mine.down.Store(true)
		died := time.Now()
		lost := make(chan time.Time, 1)
		context.AfterFunc(lease.Context(), func() { lost <- time.Now() })
		next := must[*leasefdb.Lease](t)(openNames(t, db).Acquire(ctx, "job", leasefdb.Claim{Holder: "you"}))
		had := time.Now()
		if since := had.Sub(died); since < ten || since > 2*ten {
			t.Errorf("taken over %v after the holder's death", since)
		}
		if at := <-lost; at.After(had) {
			t.Errorf("the holder's context ended %v after the takeover", at.Sub(had))
		}
		wantError(t, context.Cause(lease.Context()), leasefdb.ErrLeaseLost)
		if next.Grant().Epoch != 2 {
			t.Errorf("the takeover has epoch %d", next.Grant().Epoch)
		}
		mine.down.Store(false)
		wantError(t, mine.Transact(ctx, func(tx kv.Transaction) error { return lease.Check(ctx, tx) }), leasefdb.ErrLeaseLost)
		check(t, lease.Release(ctx)) // takes nothing from the next holder
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { return next.Check(ctx, tx) }))
		check(t, next.Release(ctx))
	})
}

// TestContextEndsAtItsDeadline checks that the context ends when the lease has
// not been renewed for as long as it lasts, counted from before the claim.
func TestContextEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &silentDatabase{Database: enginetest.InProcess(t)}
		began := time.Now()
		lease := must[*leasefdb.Lease](t)(openNames(t, db).Acquire(ctx, "job", leasefdb.Claim{Duration: ten}))
		db.down.Store(true)
		<-lease.Context().Done()
		if lasted := time.Since(began); lasted != ten {
			t.Errorf("the context lasted %v, want %v", lasted, ten)
		}
		var lost *leasefdb.LostError
		if !errors.As(context.Cause(lease.Context()), &lost) || lost.Epoch != 1 {
			t.Errorf("the cause is %v", context.Cause(lease.Context()))
		}
		db.down.Store(false)
		check(t, lease.Release(ctx))
	})
}

// TestOutageShorterThanTheLease checks that a lease survives failures that end
// before its deadline.
func TestOutageShorterThanTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &silentDatabase{Database: enginetest.InProcess(t)}
		lease := must[*leasefdb.Lease](t)(openNames(t, db).Acquire(ctx, "job", leasefdb.Claim{Duration: ten}))
		for range 20 {
			db.down.Store(true)
			time.Sleep(5 * time.Second)
			db.down.Store(false)
			time.Sleep(5 * time.Second)
		}
		check(t, lease.Context().Err())
		check(t, lease.Release(ctx))
	})
}

// TestLossIsSeenAtOnce checks that the holder learns of a loss by a watch,
// without waiting for a renewal, and without watches by the next renewal.
func TestLossIsSeenAtOnce(t *testing.T) {
	for name, noWatches := range map[string]bool{"watch": false, "no watches": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &silentDatabase{Database: enginetest.InProcess(t)}
				db.noWatches.Store(noWatches)
				names := openNames(t, db)
				lease := must[*leasefdb.Lease](t)(names.Acquire(ctx, "job", leasefdb.Claim{Duration: ten}))
				synctest.Wait()
				broken := time.Now()
				check(t, names.Break(ctx, db, "job", 1))
				<-lease.Context().Done()
				wantError(t, context.Cause(lease.Context()), leasefdb.ErrLeaseLost)
				took := time.Since(broken)
				if took > 0 && !noWatches || took > ten/2 {
					t.Errorf("the loss was seen after %v", took)
				}
				check(t, lease.Release(ctx))
			})
		})
	}
}

// TestReleaseWakesWaiters checks that a waiting call gets a lease when it is
// released, not when it would have lapsed; each of many in turn.
func TestReleaseWakesWaiters(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		names := openNames(t, db)
		first := must[*leasefdb.Lease](t)(names.Acquire(ctx, "job", leasefdb.Claim{Duration: time.Hour}))
		began := time.Now()
		epochs := make(chan int64)
		const waiters = 5
		var group sync.WaitGroup
		for range waiters {
			group.Go(func() {
				lease, err := names.Acquire(ctx, "job", leasefdb.Claim{Duration: time.Hour})
				if err != nil {
					t.Error(err)
					return
				}
				epochs <- lease.Grant().Epoch
				if err := lease.Release(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		check(t, first.Release(ctx))
		for want := int64(2); want <= waiters+1; want++ {
			if got := <-epochs; got != want {
				t.Errorf("the epoch %d was granted, want %d", got, want)
			}
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		group.Wait()
	})
}

// TestEngineClosed checks that leases end with their engine.
func TestEngineClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		lease := must[*leasefdb.Lease](t)(openNames(t, db).Acquire(ctx, "job", leasefdb.Claim{Duration: time.Hour}))
		synctest.Wait()
		check(t, db.Close())
		<-lease.Context().Done()
		cause := context.Cause(lease.Context())
		wantError(t, cause, leasefdb.ErrLeaseLost)
		wantError(t, lease.Release(ctx), kv.ErrClosed)
	})
}

// TestWatches checks on the engine itself that a loss is seen, and a free name
// had, long before any lease lapses.
func TestWatches(t *testing.T) {
	db := enginetest.Open(t)
	names := openNames(t, db)
	patient, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	hour := leasefdb.Claim{Duration: time.Hour}
	first := must[*leasefdb.Lease](t)(names.Acquire(patient, "job", hour))
	next := make(chan *leasefdb.Lease)
	go func() {
		defer close(next)
		if lease, err := names.Acquire(patient, "job", hour); err != nil {
			t.Error(err)
		} else {
			next <- lease
		}
	}()
	check(t, names.Break(ctx, db, "job", first.Grant().Epoch))
	select {
	case <-first.Context().Done():
	case <-patient.Done():
		t.Fatal("the loss was not seen")
	}
	wantError(t, context.Cause(first.Context()), leasefdb.ErrLeaseLost)
	second, ok := <-next
	if !ok || second.Grant().Epoch != 2 {
		t.Fatalf("the waiter got %+v", second)
	}
	check(t, first.Release(ctx))
	check(t, db.Transact(ctx, func(tx kv.Transaction) error { return second.Check(ctx, tx) }))
	check(t, second.Release(ctx))
}
