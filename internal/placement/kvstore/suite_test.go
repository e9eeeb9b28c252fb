// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/internal/placement/placementtest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
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

// loser is a database that gives its next commit an unknown outcome: it loses the acknowledgement,
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

// TestLostAcknowledgement checks the retry of each operation after the acknowledgement of its commit
// was lost.
func TestLostAcknowledgement(t *testing.T) {
	nothing := func(*scene) {}
	claim := func(s *scene, store *kvstore.Store) error {
		lease, err := store.TryAcquire(ctx, claimOf(alice, one, 2))
		if err == nil {
			s.lease = lease
		}
		return err
	}
	for name, c := range map[string]struct {
		run   func(*scene, *kvstore.Store) error
		after func(*scene)
		want  error
		epoch int64
	}{
		"claim":                         {claim, nothing, nil, 2},
		"claim, then a takeover":        {claim, (*scene).takeOver, placement.ErrStale, 3},
		"claim, then one of its own":    {claim, func(s *scene) { acquire(s.t, s.store, alice, one, 3) }, placement.ErrStale, 3},
		"confirmation":                  {func(s *scene, store *kvstore.Store) error { return s.confirmWith("x")(store) }, nothing, nil, 1},
		"confirmation, then takeover":   {func(s *scene, store *kvstore.Store) error { return s.confirmWith("x")(store) }, (*scene).takeOver, nil, 2},
		"confirmation, then another's":  {func(s *scene, store *kvstore.Store) error { return s.confirmWith("x")(store) }, (*scene).replaceEntry, placement.ErrUnavailable, 2},
		"release":                       {func(s *scene, store *kvstore.Store) error { return store.Release(ctx, s.lease) }, nothing, nil, 1},
		"removal":                       {func(_ *scene, store *kvstore.Store) error { return store.Remove(ctx, alice, one, 1) }, nothing, nil, 1},
		"removal, then another's claim": {func(_ *scene, store *kvstore.Store) error { return store.Remove(ctx, alice, one, 1) }, func(s *scene) { acquire(s.t, s.store, alice, two, 1) }, nil, 2},
		"release, then another's claim": {func(s *scene, store *kvstore.Store) error { return store.Release(ctx, s.lease) }, func(s *scene) { acquire(s.t, s.store, alice, two, 1) }, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			err := c.run(s, open(t, &interposedDatabase{Database: s.db, after: func() { c.after(s) }}))
			if c.want == nil {
				check(t, err)
			} else {
				wantError(t, err, c.want)
			}
			if s.row().Epoch != c.epoch {
				t.Errorf("the epoch is %d, want %d", s.row().Epoch, c.epoch)
			}
			if row := s.row(); strings.HasPrefix(name, "claim") && c.want == nil && row.Epoch != s.lease.Epoch {
				t.Errorf("the lease has epoch %d, the row %d", s.lease.Epoch, row.Epoch)
			}
		})
	}
}

// TestUnknownOutcome: errors of the engine are ErrUnavailable and keep their code; so is the end
// of a context.
func TestUnknownOutcome(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, unreachableDatabase{db})
	_, claim := s.TryAcquire(ctx, claimOf(alice, one, 1))
	_, load := s.Load(ctx, alice)
	lease := core.Lease{Key: alice, Owner: one, Epoch: 1}
	for name, err := range map[string]error{
		"claim": claim, "load": load, "store": s.Store(ctx, lease, entryOf(lease, nil)),
		"release": s.Release(ctx, lease), "remove": s.Remove(ctx, alice, one, 1),
	} {
		wantError(t, err, placement.ErrUnavailable)
		if kv.CodeOf(err) != kv.CodeTransactionTimedOut {
			t.Errorf("%s: the code of %v is %d", name, err, kv.CodeOf(err))
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := open(t, db).TryAcquire(ended, claimOf(alice, one, 1))
	wantError(t, err, placement.ErrUnavailable)
	wantError(t, err, context.Canceled)
}

// unreachableDatabase is a database that does not answer in time.
type unreachableDatabase struct{ kv.Database }

func (unreachableDatabase) Begin() (kv.Transaction, error) {
	return nil, kv.NewError(kv.CodeTransactionTimedOut, "made up")
}

func (unreachableDatabase) Transact(context.Context, func(kv.Transaction) error) error {
	return kv.NewError(kv.CodeTransactionTimedOut, "made up")
}

func (unreachableDatabase) ReadTransact(context.Context, func(kv.ReadTransaction) error) error {
	return kv.NewError(kv.CodeTransactionTimedOut, "made up")
}

// TestHomeOfMembers runs the contract of homes with owners that are members: they join,
// are evicted, and leave.
func TestHomeOfMembers(t *testing.T) {
	placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
		db := enginetest.Open(t)
		registry := must[*membership.Registry](t)(membership.New(db, membership.Options{}))
		store := must[*kvstore.Store](t)(kvstore.New(db, kvstore.Options{Members: registry}))
		joined := map[placement.Owner]*membership.Member{}
		return placementtest.Home{
			Lock: store, Storage: store,
			Join: func(name string) placement.Owner {
				for owner, m := range joined { // a name that starts again has ended before
					if owner.Name == name {
						check(t, m.Leave(ctx))
					}
				}
				m := must[*membership.Member](t)(registry.Join(ctx, membership.Self{Name: name}))
				t.Cleanup(func() { check(t, m.Leave(ctx)) })
				joined[m.Member().Owner] = m
				return m.Member().Owner
			},
			Kill: func(owner placement.Owner) {
				if !must[bool](t)(registry.Evict(ctx, owner)) {
					t.Errorf("%v was no member", owner)
				}
			},
			Leave: func(owner placement.Owner) { check(t, joined[owner].Leave(ctx)) },
		}
	})
}
