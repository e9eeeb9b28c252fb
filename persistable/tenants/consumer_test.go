// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// bidChanges are what the function of a consumer of bids gets.
type bidChanges = []persistable.Change[*Bid, int64]

// A lock does not end the consumers of the tenant. They wait without asking anything of the
// engine, and go on as soon as the lock ends.
func TestLockedConsumerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := faults.NewCounter(enginetest.InProcess(t))
		db := must[*persistable.DB](t)(persistable.Open(ctx, counter, persistable.Options{WatchPoll: time.Minute}))
		all, s := tenants.Of(db, "auctions"), BidStoreOf(db, "a")
		check(t, s.Save(ctx, s.New(Bid{ID: 1, Lot: "x"})))
		lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "copy"))
		consumer := s.Feed().Consumer("c")
		_, err := consumer.Next(ctx, func(persistable.Tx, bidChanges) error { return nil })
		wantError(t, err, persistable.ErrLocked)

		running, stop := context.WithCancel(ctx)
		handled, ended := make(chan int64), make(chan error)
		go func() {
			ended <- consumer.Run(running, func(_ persistable.Tx, changes bidChanges) error {
				for _, c := range changes {
					handled <- c.ID //persistvet:ignore retryeffect nothing else writes
				}
				return nil
			})
		}()
		synctest.Wait()
		before := counter.Counts()
		time.Sleep(29 * time.Minute)
		if c := counter.Counts().Sub(before); c.Begins > 0 || c.Watches > 0 {
			t.Errorf("%d watches and %d transactions while nothing changes", c.Watches, c.Begins)
		}
		unlocked := time.Now()
		check(t, all.Unlock(ctx, lock))
		select {
		case id := <-handled:
			if id != 1 || time.Since(unlocked) >= time.Minute {
				t.Errorf("the consumer gets %d, %v after the lock ended", id, time.Since(unlocked))
			}
		case err := <-ended:
			t.Fatalf("the consumer ends: %v", err)
		}
		stop()
		wantError(t, <-ended, context.Canceled)
		check(t, db.Close())
	})
}

// The lock of another tenant, to which the function of a consumer writes, ends the consumer as
// any other error of the function does: also when an attempt before has met none.
func TestLockOfAnotherTenantEndsConsumer(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, other := BidStoreOf(db, "a"), BidStoreOf(db, "b")
		check(t, s.Save(ctx, s.New(Bid{ID: 1, Lot: "x"})))
		check(t, other.Save(ctx, other.New(Bid{ID: 1, Lot: "x"})))
		must[tenants.Lock](t)(tenants.Of(db, "auctions").Lock(ctx, "b", "copy"))
		limited, stop := context.WithTimeoutCause(ctx, time.Minute, errors.New("the consumer goes on"))
		defer stop()
		err := s.Feed().Consumer("c").Run(limited, func(tx persistable.Tx, _ bidChanges) error {
			return other.In(tx).Save(limited, other.New(Bid{ID: 2, Lot: "x"}))
		})
		wantError(t, err, persistable.ErrLocked, `the directory "auctions"/"b" is locked`)
		if v := must[persistable.Version](t)(s.Feed().Consumer("c").Position(ctx)); !v.IsZero() {
			t.Errorf("the position has moved to %v", v)
		}
	})
}
