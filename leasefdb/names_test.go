// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

var ctx = context.Background()

// onEngines runs a test on the engine as it is, and on the hostile one.
func onEngines(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) { test(t, enginetest.Open(t)) })
	t.Run("hostile", func(t *testing.T) { test(t, faults.HostileT(t, enginetest.Open(t))) })
}

// inVirtualTime is onEngines where waiting takes no time.
func inVirtualTime(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, enginetest.InProcess(t)) })
	})
	t.Run("hostile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, faults.HostileT(t, enginetest.InProcess(t))) })
	})
}

func openNames(t testing.TB, db kv.Database) *leasefdb.Names {
	t.Helper()
	n, err := leasefdb.NewNames(db, nil)
	check(t, err)
	return n
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

// begin returns a transaction that is cancelled at the end.
func begin(t testing.TB, db kv.Database) kv.Transaction {
	t.Helper()
	tx := must[kv.Transaction](t)(db.Begin())
	t.Cleanup(tx.Cancel)
	return tx
}

// TestEpochsOnlyGrow checks that each grant has an epoch of its own, greater
// than all before, whatever happened in between.
func TestEpochsOnlyGrow(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		names := openNames(t, db)
		for want := int64(1); want <= 5; want++ {
			g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{Holder: fmt.Sprint("owner", want%2)}))
			if g.Epoch != want {
				t.Fatalf("the %d. grant has epoch %d", want, g.Epoch)
			}
			_, err := names.Claim(ctx, db, "job", leasefdb.Claim{Holder: "other"})
			wantError(t, err, leasefdb.ErrHeld)
			if want%2 == 0 {
				check(t, g.Release(ctx, db))
				check(t, g.Release(ctx, db)) // again is nothing
			} else {
				check(t, names.Break(ctx, db, "job", want-1)) // another's epoch is nothing
				wantHeld(t, db, names, g)
				check(t, names.Break(ctx, db, "job", want))
			}
			s := must[leasefdb.State](t)(names.Get(ctx, db, "job"))
			if s.Held() || s.Epoch != want {
				t.Errorf("after the release of epoch %d: %+v", want, s)
			}
		}
		if s := must[leasefdb.State](t)(names.Get(ctx, db, "unknown")); s.Held() || s.Epoch != 0 || s.Name != "unknown" {
			t.Errorf("a name never held: %+v", s)
		}
	})
}

func wantHeld(t testing.TB, db kv.Database, names *leasefdb.Names, g leasefdb.Grant) {
	t.Helper()
	if s := must[leasefdb.State](t)(names.Get(ctx, db, g.Name)); s.Epoch != g.Epoch || s.Holder != g.Holder {
		t.Errorf("%q is not held under epoch %d: %+v", g.Name, g.Epoch, s)
	}
}

// TestClaimIsIdempotent checks that the same request is granted once, and that
// others, also of the same owner, are not taken for it.
func TestClaimIsIdempotent(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		names := openNames(t, db)
		c := leasefdb.Claim{Holder: "me", RequestID: "request-1"}
		for range 3 {
			if g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", c)); g.Epoch != 1 {
				t.Errorf("the repeated claim has epoch %d", g.Epoch)
			}
		}
		c.RequestID = "request-2"
		_, err := names.Claim(ctx, db, "job", c)
		held, isHeld := leasefdb.HeldBy(err)
		if !isHeld || !errors.Is(err, leasefdb.ErrHeld) || held.Holder != "me" || held.Request != "request-1" {
			t.Errorf("another request of the same owner: %v", err)
		}
	})
}

// TestRepeatedClaimDelaysTakeover checks that a claim with a lost reply, and
// which is repeated much later, cannot be taken over before its new deadline.
func TestRepeatedClaimDelaysTakeover(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		names := openNames(t, db)
		mine := leasefdb.Claim{Holder: "me", RequestID: "r", Duration: 10 * time.Second}
		must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", mine))
		seen := observe(t, names, leasefdb.Observation{})
		time.Sleep(9 * time.Second)
		must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", mine))
		time.Sleep(2 * time.Second)
		_, err := names.Claim(ctx, db, "job", leasefdb.Claim{Holder: "you", Seen: seen})
		wantError(t, err, leasefdb.ErrHeld)
	})
}

func observe(t testing.TB, names *leasefdb.Names, seen leasefdb.Observation) leasefdb.Observation {
	t.Helper()
	_, err := names.TryAcquire(ctx, "job", leasefdb.Claim{Holder: "observer"})
	held, isHeld := leasefdb.HeldBy(err)
	if !isHeld {
		t.Fatalf("got error %v, want an ErrHeld", err)
	}
	return seen.Observe(held, time.Now())
}

// TestOperationsCompose checks that each operation is part of the caller's
// transaction: with its commit it happens, without it does not.
func TestOperationsCompose(t *testing.T) {
	db := enginetest.Open(t)
	names := openNames(t, db)
	c := leasefdb.Claim{Holder: "me", RequestID: "r"}
	failed := errors.New("the caller's function failed")
	within := func(end error, fn func(tx kv.Transaction) error) {
		t.Helper()
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			if err := fn(tx); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	state := func() leasefdb.State {
		t.Helper()
		return must[leasefdb.State](t)(names.Get(ctx, db, "job"))
	}
	var g leasefdb.Grant
	claim := func(tx kv.Transaction) (err error) { g, err = names.Claim(ctx, tx, "job", c); return err }
	if within(failed, claim); state().Held() {
		t.Error("a claim in a failed transaction was granted")
	}
	if within(nil, claim); !state().Held() || g.Epoch != 1 {
		t.Error("a claim was not granted")
	}
	before := state().Revision
	renew := func(tx kv.Transaction) (err error) { g, err = g.Renew(ctx, tx); return err }
	within(failed, renew)
	if within(nil, renew); state().Revision != before+1 {
		t.Errorf("renewed from %d to %d", before, state().Revision)
	}
	within(nil, func(tx kv.Transaction) error { // a claim, its check and its release in one
		if err := g.Release(ctx, tx); err != nil {
			return err
		}
		next, err := names.Claim(ctx, tx, "job", leasefdb.Claim{RequestID: "next"})
		if err != nil {
			return err
		}
		if _, err := next.Renew(ctx, tx); err != nil {
			return err
		}
		wantError(t, g.Check(ctx, tx), leasefdb.ErrLeaseLost)
		s, err := names.Get(ctx, tx, "job")
		if s.Epoch != 2 {
			t.Errorf("in the transaction the state is %+v", s)
		}
		g = next
		return err
	})
	release := func(tx kv.Transaction) error { return g.Release(ctx, tx) }
	if within(failed, release); !state().Held() {
		t.Error("a release in a failed transaction was made")
	}
	if within(nil, release); state().Held() || state().Epoch != 2 {
		t.Errorf("after the release: %+v", state())
	}
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		_, err := names.Claim(ctx, tx, "job", leasefdb.Claim{})
		return err
	})
	if err == nil {
		t.Error("a claim in a transaction needs a RequestID, or each attempt is another claim")
	}
}

// TestFaultyClaims checks that each fault of an argument is an error.
func TestFaultyClaims(t *testing.T) {
	db := enginetest.Open(t)
	names := openNames(t, db)
	for name, c := range map[string]leasefdb.Claim{
		"":            {},
		"a\xff":       {},
		"too short":   {Duration: time.Microsecond},
		"negative":    {Duration: -1},
		"bad holder":  {Holder: "\xff"},
		"bad request": {RequestID: "\xff"},
		"long":        {Holder: string(make([]byte, 5000))},
	} {
		if _, err := names.Claim(ctx, db, name, c); err == nil {
			t.Errorf("the claim %+v of %q was granted", c, name)
		}
	}
	if _, err := leasefdb.NewNames(nil, nil); err == nil {
		t.Error("names of no database")
	}
	var g leasefdb.Grant
	tx := begin(t, db)
	if g.Check(ctx, tx) == nil || g.Release(ctx, db) == nil {
		t.Error("the zero Grant holds something")
	}
	lease := names.Keep(ctx, g)
	if lease.Context().Err() == nil || lease.Release(ctx) == nil {
		t.Error("the zero Grant was kept")
	}
}

// TestDirectoryRemoved checks that a holder finds its name lost when the names
// are removed, and that none of its keys is left.
func TestDirectoryRemoved(t *testing.T) {
	db := enginetest.Open(t)
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
	check(t, directory.Root().Remove(ctx, db, []string{"kazahana", "names"}))
	_, err := g.Renew(ctx, db)
	wantError(t, err, leasefdb.ErrLeaseLost)
	check(t, g.Release(ctx, db))
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{End: []byte{0xfe}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	if len(pairs) > 0 {
		t.Errorf("left over: %v", pairs)
	}
}

// TestRounds pins what the operations cost, with the directory opened before.
func TestRounds(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "first", leasefdb.Claim{}))
	must[leasefdb.State](t)(names.Get(ctx, db, "first"))
	for _, c := range []struct {
		name                 string
		rounds, gets, writes int
		run                  func() error
	}{
		{"claim", 1, 2, 2, func() error { _, err := names.Claim(ctx, db, "job", leasefdb.Claim{}); return err }},
		{"get", 1, 2, 0, func() error { _, err := names.Get(ctx, db, "job"); return err }},
		{"renew", 1, 1, 1, func() error { _, err := g.Renew(ctx, db); return err }},
		{"check", 1, 1, 0, func() error { return db.Transact(ctx, func(tx kv.Transaction) error { return g.Check(ctx, tx) }) }},
		{"release", 1, 1, 2, func() error { return g.Release(ctx, db) }},
	} {
		n, err := db.Measure(c.run)
		check(t, err)
		if n.Rounds != c.rounds || n.Gets != c.gets || n.Writes != c.writes || n.Ranges > 0 {
			t.Errorf("%s costs %v", c.name, n)
		}
	}
}

func ignoreLost(err error) error {
	if errors.Is(err, leasefdb.ErrLeaseLost) {
		return nil
	}
	return err
}
