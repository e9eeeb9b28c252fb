// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
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
	lost := lossy{&enginetest.Lossy{Database: to}, to}
	if err := Abandon(ctx, shared(source(from)), shared(target(lost))); err != nil {
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

// TestAbandonedAtTheEnd gives a move up in another process, before its last transaction.
func TestAbandonedAtTheEnd(t *testing.T) {
	from, to := openSeeded(t), openEmpty(t)
	all := &cut{openEmpty(t), 1000}
	if _, err := Run(t.Context(), source(from), target(all), small); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), source(from), target(&meddler{cut{to, 1000 - all.left - 1}, func() error { return Abandon(t.Context(), source(from), target(to)) }}), small)
	if !errors.Is(err, ErrOther) {
		t.Errorf("got %v", err)
	}
}

// meddler is a database with which another process does something before a transaction.
type meddler struct {
	cut
	meddle func() error
}

func (m *meddler) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	err := m.cut.Transact(ctx, fn)
	if errors.Is(err, errCut) {
		err = errors.Join(m.meddle(), m.Database.Transact(ctx, fn))
	}
	return err
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
