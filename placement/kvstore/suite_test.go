// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/placementtest"
)

// TestHome runs the contract of homes.
func TestHome(t *testing.T) {
	runHome(t, func(_ testing.TB, db kv.Database) kv.Database { return db })
}

// TestHostileHome runs the contract on an engine that does all that package kv allows: each
// transaction fails at least once, some after their commit.
func TestHostileHome(t *testing.T) {
	runHome(t, func(t testing.TB, db kv.Database) kv.Database {
		return faults.Hostile(db, faults.Options{Seed: seed.Of(t), Faults: 2, MaxDelay: -1}) // the suite makes thousands of transactions
	})
}

func runHome(t *testing.T, wrap func(testing.TB, kv.Database) kv.Database) {
	placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
		engine := enginetest.Open(t)
		loser := &loser{Database: wrap(t, engine)}
		home := homeOn(t, loser)
		second := homeOn(t, wrap(t, engine))
		home.Second = &second
		home.Lose = func(executed bool) { loser.next = &executed }
		home.Kill = func(owner placement.Owner) { kill(t, engine, owner) }
		return home
	})
}

// homeOn returns the home of one process.
func homeOn(t testing.TB, db kv.Database) placementtest.Home {
	s := open(t, db)
	return placementtest.Home{Lock: s, Storage: s, MaxSnapshot: kvstore.MaxSnapshot}
}

// loser is a database whose next commit has an unknown outcome: it loses the acknowledgement,
// or does not commit.
type loser struct {
	kv.Database
	next *bool
}

func (l *loser) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return loserTx{tx, l}, err
}

func (l *loser) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := l.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type loserTx struct {
	kv.Transaction
	db *loser
}

func (t loserTx) Commit(ctx context.Context) error {
	executed := t.db.next
	if executed == nil {
		return t.Transaction.Commit(ctx)
	}
	if *executed {
		if err := t.Transaction.Commit(ctx); err != nil {
			return err // it will be tried again
		}
	}
	t.db.next = nil
	return kv.ErrOutcomeUnknown
}
