// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// shared returns an end that other processes may have open.
func shared(e End) End { e.Shared = true; return e }

// unlock ends the lock of a database, as fdbcli unlock does.
func unlock(t testing.TB, db kv.Database) {
	t.Helper()
	err := transact(t.Context(), db, func(tx kv.Transaction) error { tx.Clear([]byte(databaseLockKey)); return nil })
	if err != nil {
		t.Error(err)
	}
}

// TestAbandon gives up a move that was interrupted, and moves another database there.
func TestAbandon(t *testing.T) {
	ctx := t.Context()
	from, other, to := openSeeded(t), openSeeded(t), openEmpty(t)
	before := contents(t, from)
	if err := Abandon(ctx, source(from), shared(target(to))); !errors.Is(err, ErrNone) {
		t.Errorf("before there is a move: %v", err)
	}
	if _, err := Run(ctx, shared(source(from)), shared(target(&cut{to, 6})), small); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if reason, err := LockOf(ctx, to); err != nil || !strings.Contains(reason, "of source into it is unfinished") {
		t.Errorf("the target is locked because of %q (%v)", reason, err)
	}
	if err := Abandon(ctx, End{Name: "other"}, shared(target(to))); !errors.Is(err, ErrOther) {
		t.Errorf("the move of another source: %v", err)
	}
	if err := Abandon(ctx, shared(source(from)), shared(target(lossy{to}))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, from)); diff != "" || len(contents(t, to)) != 0 {
		t.Errorf("the source was changed, or the target has %d keys (-before +after):\n%s", len(contents(t, to)), diff)
	}
	if _, err := Run(ctx, End{DB: other, Name: "other"}, shared(target(to)), small); err != nil {
		t.Fatal(err)
	}
	wantSame(t, other, to)
}

// meddler is a database with which another process does something during a transaction, of those that cut
// counts the one that it would not begin.
type meddler struct {
	cut
	when   moment
	meddle func() error
}

// moment says when a meddler meddles.
type moment string

const (
	before  moment = "before a transaction"
	within  moment = "before its commit"
	instead moment = "before its commit, which is lost and gets no answer"
	after   moment = "after its commit, which gets no answer"
)

func (m *meddler) Begin() (kv.Transaction, error) {
	tx, err := m.cut.Begin()
	if !errors.Is(err, errCut) {
		return tx, err
	}
	m.left = 1000
	if m.when == before {
		return tx, errors.Join(m.meddle(), m.begin(&tx))
	}
	err = m.begin(&tx)
	return &hook{tx, m.when, m.meddle}, err
}

func (m *meddler) begin(tx *kv.Transaction) (err error) {
	*tx, err = m.Database.Begin()
	return err
}

func (m *meddler) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return transactIn(ctx, m, fn)
}

// hook is a transaction during which a meddler meddles once.
type hook struct {
	kv.Transaction
	when   moment
	meddle func() error
}

func (t *hook) Commit(ctx context.Context) error {
	meddle := t.meddle
	t.meddle = nil
	switch {
	case meddle == nil:
		return t.Transaction.Commit(ctx)
	case t.when == within:
		return errors.Join(meddle(), t.Transaction.Commit(ctx))
	case t.when == after:
		if err := t.Transaction.Commit(ctx); err != nil {
			return err
		}
	}
	return errors.Join(meddle(), kv.NewError(kv.CodeCommitUnknownResult, "the outcome was lost"))
}

// large makes some batches of a small database.
var large = Options{batch: 30_000}

// countTransactions returns how many transactions of the target a move needs.
func countTransactions(t *testing.T, from kv.Database) int {
	t.Helper()
	all := &cut{openEmpty(t), 1000}
	if _, err := Run(t.Context(), source(from), target(all), large); err != nil {
		t.Fatal(err)
	}
	return 1000 - all.left
}

// meddleEverywhere moves once for each of the target's transactions but the first, and for each moment before the
// commit. It calls meddle with the target then, and check with the error of the move. The cache of directories has
// transactions without a commit.
func meddleEverywhere(t *testing.T, end func(kv.Database) End, meddle func(to kv.Database) error, check func(to kv.Database, err error)) {
	t.Helper()
	db := openSeeded(t)
	provider, err := leasefdb.New(db, leasefdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{}); err != nil {
		t.Fatal(err)
	}
	for n := range countTransactions(t, db) - 1 {
		for _, when := range []moment{before, within, instead} {
			to := openEmpty(t)
			meddled := false
			m := &meddler{cut{to, n + 1}, when, func() error { meddled = true; return meddle(to) }}
			if _, err := Run(t.Context(), source(db), end(m), large); meddled {
				check(to, err)
			} else if err != nil || when == before {
				t.Errorf("not meddled with: %v", err)
			}
			if t.Failed() {
				t.Fatalf("another process has meddled %s: after %d of the target", when, n+1)
			}
		}
	}
}

// TestAbandonedMeanwhile gives a move up in another process, during each of its transactions: nothing is left in
// the target, and the move fails.
func TestAbandonedMeanwhile(t *testing.T) {
	for name, end := range map[string]func(kv.Database) End{
		"folder":  target,
		"cluster": func(db kv.Database) End { return shared(target(db)) },
	} {
		t.Run(name, func(t *testing.T) {
			meddleEverywhere(t, end,
				func(to kv.Database) error { return Abandon(t.Context(), End{Name: "source"}, end(to)) },
				func(to kv.Database, err error) {
					if !errors.Is(err, ErrOther) && !errors.Is(err, ErrLocked) {
						t.Errorf("the move: %v", err)
					}
					if left := contents(t, to); len(left) > 0 {
						t.Errorf("the target has %d keys, the first %q", len(left), left[0].Key)
					}
				})
		})
	}
}

// TestUnlockedMeanwhile has a person unlock the target during each of a move's transactions, and a program write
// to it: the move writes nothing there any more.
func TestUnlockedMeanwhile(t *testing.T) {
	end := func(db kv.Database) End { return shared(target(db)) }
	var after []kv.KeyValue
	meddleEverywhere(t, end,
		func(to kv.Database) error {
			unlock(t, to)
			set(t, to, []byte("a program's"), []byte("value"))
			after = contents(t, to)
			return nil
		},
		func(to kv.Database, err error) {
			if !errors.Is(err, ErrLocked) {
				t.Errorf("the move: %v", err)
			}
			if left := contents(t, to); !reflect.DeepEqual(after, left) { // cmp.Diff takes long for so many keys
				t.Errorf("the move has changed the target, which had %d keys and now has %d", len(after), len(left))
			}
		})
}

// relock replaces the lock of a database by another one.
func relock(t *testing.T, db kv.Database) error {
	t.Helper()
	return transact(t.Context(), db, func(tx kv.Transaction) error {
		tx.Set([]byte(databaseLockKey), []byte("10 bytes..another lock.."+"id"))
		return nil
	})
}

// wantRelocked checks that a database has the lock of relock.
func wantRelocked(t *testing.T, db kv.Database) {
	t.Helper()
	all := contents(t, db)
	if last := all[len(all)-1]; string(last.Value) != "10 bytes..another lock.."+"id" {
		t.Errorf("the lock is gone: the last key is %q", last.Key)
	}
}

// TestAnotherLock locks a database anew while a move ends its own lock there.
func TestAnotherLock(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	last := countTransactions(t, from) - 1
	m := &meddler{cut{to, last}, within, func() error { return relock(t, to) }}
	if _, err := Run(t.Context(), source(from), shared(target(m)), large); !errors.Is(err, ErrLocked) {
		t.Errorf("the end of a move: %v", err)
	}
	wantRelocked(t, to)

	to = openEmpty(t)
	if _, err := Run(t.Context(), shared(source(from)), target(&cut{to, 3}), large); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	again := &meddler{cut{from, 0}, within, func() error { return relock(t, from) }}
	if err := Abandon(t.Context(), shared(source(again)), target(to)); err != nil {
		t.Errorf("giving up: %v", err)
	}
	wantRelocked(t, from)
}

// TestAbandonedInParts interrupts the end of a move while another process gives it up, which is interrupted as
// well: the source is never unlocked while the move can go on.
func TestAbandonedInParts(t *testing.T) {
	from := openSeeded(t)
	last := countTransactions(t, from) - 1
	for n := range 2 {
		to := openEmpty(t)
		giveUp := func() error {
			err := Abandon(t.Context(), shared(source(from)), shared(target(&cut{to, n})))
			if !errors.Is(err, errCut) {
				t.Errorf("giving up was not interrupted: %v", err)
			}
			return nil
		}
		_, err := Run(t.Context(), shared(source(from)), shared(target(&meddler{cut{to, last}, before, giveUp})), large)
		reason, lockErr := LockOf(t.Context(), from)
		if lockErr != nil || (err == nil) != (reason != "") {
			t.Errorf("after %d transactions: the move has ended with %v, and the source is locked because of %q (%v)", n, err, reason, lockErr)
		}
		if n == 0 { // before it was given up
			unlock(t, from)
			continue
		}
		if _, err := Run(t.Context(), shared(source(from)), shared(target(to)), large); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "--abandon") {
			t.Errorf("going on with a move that was given up: %v", err)
		}
		if reason, err := LockOf(t.Context(), to); err != nil || !strings.Contains(reason, "with --abandon") {
			t.Errorf("the target is locked because of %q (%v)", reason, err)
		}
		if err := Abandon(t.Context(), shared(source(from)), shared(target(to))); err != nil || len(contents(t, to)) > 0 {
			t.Errorf("giving up again: %v, and the target has %d keys", err, len(contents(t, to)))
		}
	}
}

// TestUnlockedByHand checks that a target that was unlocked is a database like any other:
// programs may have written there.
func TestUnlockedByHand(t *testing.T) {
	ctx := t.Context()
	from, to := openSeeded(t), openEmpty(t)
	if _, err := Run(ctx, source(from), shared(target(&cut{to, 6})), small); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	unlock(t, to)
	before := contents(t, to)
	if _, err := Run(ctx, source(from), shared(target(to)), small); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("moving there: %v", err)
	}
	if err := Abandon(ctx, source(from), shared(target(to))); !errors.Is(err, ErrNone) {
		t.Errorf("giving up: %v", err)
	}
	if diff := cmp.Diff(before, contents(t, to)); diff != "" {
		t.Errorf("the target was changed (-before +after):\n%s", diff)
	}
	if _, err := Run(ctx, shared(target(to)), source(openEmpty(t)), small); err != nil {
		t.Errorf("moving from there: %v", err)
	}
}

// TestLock checks the locks of ends that other processes have open.
func TestLock(t *testing.T) {
	ctx := t.Context()
	lockOf := func(db kv.Database) (lock []byte) {
		for _, p := range contents(t, db) {
			if string(p.Key) == databaseLockKey {
				lock = p.Value
			}
		}
		return lock
	}
	from, to := openSeeded(t), openEmpty(t)
	o := small
	seen := 0
	o.Progress = func(Phase, int64, int64) {
		a, b := lockOf(from), lockOf(to)
		if len(a) != 26 || len(b) != 26 || !bytes.Equal(a[10:], b[10:]) || binaryZero(a[:10]) {
			t.Errorf("the locks are %x and %x", a, b)
		}
		seen++
	}
	result, err := Run(ctx, shared(source(from)), shared(target(to)), o)
	if err != nil || seen < 10 {
		t.Fatalf("%v after %d steps", err, seen)
	}
	if reason, err := LockOf(ctx, to); reason != "" || err != nil {
		t.Errorf("the target is locked: %s (%v)", reason, err)
	}
	if reason, err := LockOf(ctx, from); err != nil || !strings.HasSuffix(reason, "unlock "+result.Lock+"'") {
		t.Errorf("the source is locked because of %q (%v)", reason, err)
	}
	if lock := lockOf(from); len(lock) != 26 || lockName(lock[10:]) != result.Lock {
		t.Errorf("the source has the lock %x, and the result %s", lock, result.Lock)
	}

	if _, err := Run(ctx, shared(source(from)), target(openEmpty(t)), o); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "unlock "+result.Lock) {
		t.Errorf("out of a source with another lock: %v", err)
	}
	free, other := openSeeded(t), openEmpty(t)
	o.Progress = func(Phase, int64, int64) { unlock(t, free) }
	if _, err := Run(ctx, shared(source(free)), target(other), o); !errors.Is(err, ErrLocked) {
		t.Errorf("out of a source that was unlocked: %v", err)
	}
}

// TestFormats decodes the states that earlier versions stored in the target of a move, one of each stage, and
// encodes them as it finds them.
func TestFormats(t *testing.T) {
	lock := []byte("sixteen bytes ok")
	stages := []state{
		{from: "/srv/data", lock: lock, next: []byte{}, stage: copying},
		{from: "prod:k3", lock: lock, next: []byte("half\x00way"), stage: copying},
		{from: "/srv/data", lock: lock, next: []byte(keysEnd), stage: compared},
		{from: "/srv/data", lock: lock, next: []byte("half\x00way"), stage: givenUp},
	}
	formats.Check(t, formats.Format{
		Name: "kazahana/move",
		Write: func(*testing.T) (example string) {
			for _, s := range stages {
				example += hex.EncodeToString(s.encode()) + "\n"
			}
			return example
		},
		Read: func(t *testing.T, example string) {
			for i, line := range strings.Fields(example) {
				value, err := hex.DecodeString(line)
				if err != nil {
					t.Fatal(err)
				}
				s, err := decodeState(value)
				if diff := cmp.Diff(stages[i], s, cmp.AllowUnexported(state{})); err != nil || diff != "" {
					t.Errorf("state %d: %v, %s", i, err, diff)
				}
			}
		},
	})
}
