// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
)

// TestColdActivation: a claim and its confirmation are two transactions with one round of reads
// each; if the former owner has died, the claim needs one round more. It also checks the costs of
// the other operations.
func TestColdActivation(t *testing.T) {
	engine := enginetest.Open(t)
	db := faults.NewCounter(engine)
	s := open(t, db)
	acquire(t, s, placement.Key{Kind: "account", ID: "first"}, one, 1)          // creates the directory
	lease := acquire(t, s, placement.Key{Kind: "account", ID: "first"}, one, 2) // remembers it
	key := placement.Key{Kind: "account", ID: "bob"}
	for _, c := range []struct {
		name                    string
		commits, rounds, writes int
		run                     func() error
	}{
		{"claim", 1, 1, 1, func() (err error) { lease, err = s.TryAcquire(ctx, claimOf(key, one, 3)); return err }},
		{"confirm", 1, 1, 2, func() error { return s.Store(ctx, lease, entryOf(lease, []byte("state"))) }},
		{"load", 0, 1, 0, func() error { _, err := s.Load(ctx, key); return err }},
		{"held", 0, 2, 0, func() error {
			if _, err := s.TryAcquire(ctx, claimOf(key, two, 1)); !errors.Is(err, placement.ErrHeld) {
				t.Errorf("a claim of what another has: %v", err)
			}
			return nil
		}},
		{"takeover", 1, 2, 1, func() (err error) {
			kill(t, engine, one)
			lease, err = s.TryAcquire(ctx, claimOf(key, two, 2))
			return err
		}},
		{"remove", 1, 1, 1, func() error { return s.Remove(ctx, key, two, lease.Epoch) }},
	} {
		n, err := db.Measure(c.run)
		check(t, err)
		if n.Begins != 1 || n.Retries != 0 || n.Commits != c.commits || n.Rounds != c.rounds || n.Writes != c.writes {
			t.Errorf("%s costs %d transactions, %v", c.name, n.Begins, n)
		}
	}
}

// TestClaims checks which owner gets a key, and under which epoch.
func TestClaims(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		s := open(t, db)
		lease := acquire(t, s, alice, one, 1)
		want := core.Lease{Key: alice, Owner: one, Request: 1, Epoch: 1, Loaded: true, Kept: true}
		if diff := cmp.Diff(want, lease); diff != "" {
			t.Errorf("the first lease (-want +got):\n%s", diff)
		}
		if again := acquire(t, s, alice, one, 1); again.Epoch != 1 {
			t.Errorf("the claim repeated got epoch %d", again.Epoch)
		}
		_, err := s.TryAcquire(ctx, claimOf(alice, two, 1))
		var held *core.LockError
		if !errors.As(err, &held) || !errors.Is(err, placement.ErrHeld) || held.Holder != (placement.Holder{Owner: one, Address: "one:80", Epoch: 1}) {
			t.Errorf("a claim of what another has: %v", err)
		}
		if again := acquire(t, s, alice, one, 2); again.Epoch != 2 {
			t.Errorf("another request of the owner got epoch %d", again.Epoch)
		}
		wantError(t, s.Release(ctx, lease), placement.ErrStale)
		lease.Epoch, lease.Request = 2, 2
		check(t, s.Release(ctx, lease))
		check(t, s.Release(ctx, lease))
		lease = acquire(t, s, alice, two, 1)
		if lease.Epoch != 3 || lease.Entry != nil {
			t.Errorf("after a release: %+v", lease)
		}
		check(t, s.Store(ctx, lease, entryOf(lease, []byte("state"))))
		kill(t, db, two)
		if lease = acquire(t, s, alice, one, 3); lease.Epoch != 4 || lease.Entry == nil || lease.Entry.Owner != two {
			t.Errorf("after a death: %+v", lease)
		}
		_, err = s.TryAcquire(ctx, claimOf(alice, two, 2))
		wantError(t, err, placement.ErrStale)
	})
}

// TestReleaseKeepsThePredecessorsEntry: the entry of a dead owner survives the claim of a successor
// that gave up; an owner's own entry does not survive its release.
func TestReleaseKeepsThePredecessorsEntry(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		s := open(t, db)
		lease := acquire(t, s, alice, one, 1)
		check(t, s.Store(ctx, lease, entryOf(lease, []byte("state"))))
		kill(t, db, one)
		lease = acquire(t, s, alice, two, 1)
		check(t, s.Release(ctx, lease))
		lease = acquire(t, s, alice, two, 2)
		if lease.Entry == nil || string(lease.Entry.Record.Snapshot) != "state" {
			t.Fatalf("after a claim that was given up the entry is %+v", lease.Entry)
		}
		check(t, s.Store(ctx, lease, entryOf(lease, nil)))
		again := acquire(t, s, alice, two, 3) // a greater epoch than that of the entry
		check(t, s.Release(ctx, again))
		if e := must[*core.ActivationEntry](t)(s.Load(ctx, alice)); e == nil || e.Epoch != lease.Epoch {
			t.Errorf("after a second claim that was given up the entry is %+v", e)
		}
		wantError(t, s.Remove(ctx, alice, two, again.Epoch), placement.ErrStale)
		check(t, s.Remove(ctx, alice, two, lease.Epoch))
		lease = acquire(t, s, alice, two, 4)
		check(t, s.Store(ctx, lease, entryOf(lease, nil)))
		check(t, s.Release(ctx, lease))
		if e := must[*core.ActivationEntry](t)(s.Load(ctx, alice)); e != nil {
			t.Errorf("an entry outlives the release of its lease: %+v", e)
		}
		lease = acquire(t, s, alice, two, 5)
		check(t, s.Store(ctx, lease, entryOf(lease, nil)))
		wantError(t, s.Remove(ctx, alice, two, lease.Epoch-1), placement.ErrStale)
		check(t, s.Remove(ctx, alice, two, lease.Epoch))
		check(t, s.Remove(ctx, alice, two, lease.Epoch))
		if row := must[kvstore.Row](t)(s.Row(ctx, alice)); !row.Free() || row.Epoch != lease.Epoch {
			t.Errorf("after the removal the row is %+v", row)
		}
	})
}

// TestContendedClaims: members claim one key at once. One gets it, and the errors of the others name
// it, also on the hostile engine, where each claim is repeated.
func TestContendedClaims(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		s := open(t, db)
		var (
			group sync.WaitGroup
			mu    sync.Mutex
			won   []placement.Owner
			told  = map[placement.Owner]int{}
		)
		for i := range 8 {
			owner := placement.Owner{Name: "member " + string(rune('a'+i)), Incarnation: 1}
			group.Go(func() {
				_, err := s.TryAcquire(ctx, claimOf(alice, owner, 1))
				mu.Lock()
				defer mu.Unlock()
				var held *core.LockError
				switch {
				case err == nil:
					won = append(won, owner)
				case errors.As(err, &held):
					told[held.Holder.Owner]++
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(won) != 1 || told[won[0]] != 7 {
			t.Errorf("%v got the key; the others were told of %v", won, told)
		}
		if row := must[kvstore.Row](t)(s.Row(ctx, alice)); row.Epoch != 1 || row.Owner != won[0] {
			t.Errorf("the row is %+v", row)
		}
	})
}

// TestBadInput: invalid input is refused with all its faults before anything is read or
// written.
func TestBadInput(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	s := open(t, db)
	before := db.Counts()
	for _, c := range []struct {
		claim core.TryAcquire
		want  []string
	}{
		{core.TryAcquire{}, []string{"kind is empty", "id is empty", "name is empty", "request id is 0"}},
		{claimOf(placement.Key{Kind: "a\x00b", ID: "\xff"}, one, 1), []string{"NUL", "not valid UTF-8"}},
		{claimOf(alice, placement.Owner{Name: strings.Repeat("n", 256), Incarnation: 1}, 1), []string{"256 bytes"}},
		{claimOf(alice, placement.Owner{Name: "a\x00b", Incarnation: 1}, 1), []string{"NUL"}},
		{claimOf(alice, placement.Owner{Name: "a"}, 1), []string{"incarnation is 0; it must be 1 or more"}},
	} {
		_, err := s.TryAcquire(ctx, c.claim)
		var typed *core.LockError
		if !errors.As(err, &typed) {
			t.Fatalf("%+v: %v", c.claim, err)
		}
		for _, text := range c.want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v does not say %q", err, text)
			}
		}
	}
	lease := core.Lease{Key: alice, Owner: one, Epoch: 1}
	large := entryOf(lease, make([]byte, kvstore.MaxSnapshot+1))
	wantError(t, s.Store(ctx, lease, large), placement.ErrTooLarge)
	large.Record = core.ActivationRecord{PID: strings.Repeat("p", kvstore.MaxPID+1)}
	wantError(t, s.Store(ctx, lease, large), placement.ErrTooLarge)
	if cost := db.Counts().Sub(before); cost.Begins > 0 {
		t.Errorf("the refusals cost %v", cost)
	}
	for _, o := range []kvstore.Options{{}, {Members: members{}}} {
		if _, err := kvstore.New(nil, o); err == nil {
			t.Errorf("a store of no database with %+v", o)
		}
	}
	if _, err := kvstore.New(db, kvstore.Options{}); err == nil || !strings.Contains(err.Error(), "Members") {
		t.Errorf("without members: %v", err)
	}
	wantError(t, s.Store(ctx, lease, entryOf(lease, nil)), placement.ErrStale) // there is no directory yet
	wantError(t, s.Release(ctx, lease), placement.ErrStale)
	check(t, s.Remove(ctx, alice, one, 1))
	if e := must[*core.ActivationEntry](t)(s.Load(ctx, alice)); e != nil {
		t.Errorf("an entry before all claims: %+v", e)
	}
}
