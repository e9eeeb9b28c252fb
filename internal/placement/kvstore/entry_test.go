// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestEntries: Load returns an entry as it was stored, of any size, also over a larger one; so
// does the claim of a successor.
func TestEntries(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		s := open(t, db)
		lease := acquire(t, s, alice, one, 1)
		for _, size := range []int{-1, kvstore.MaxSnapshot, 0, 89_999, 90_000, 500_000, 1} {
			e := entryOf(lease, nil)
			if size >= 0 {
				e.Record.Snapshot = bytes.Repeat([]byte{0, 0xff, 7}, size/3+1)[:size]
			}
			e.ObservedAt = time.Unix(1767225600, int64(size)).UTC()
			check(t, s.Store(ctx, lease, e))
			check(t, s.Store(ctx, lease, e)) // may be repeated
			loaded, claimed := must[*core.ActivationEntry](t)(s.Load(ctx, alice)), acquire(t, s, alice, one, 1).Entry
			if !reflect.DeepEqual(&e, loaded) || !reflect.DeepEqual(&e, claimed) {
				t.Errorf("%d bytes: loaded and claimed differ from what was stored:\n%.500v\n%.500v\n%.500v", size, loaded, claimed, e)
			}
		}
		if n := len(pairs(t, db)); n != 2 {
			t.Errorf("%d pairs are left of a row and a small entry", n)
		}
	})
}

// TestEntryOfAnotherLease checks that an entry is refused that is not of its lease.
func TestEntryOfAnotherLease(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	lease := acquire(t, s, alice, one, 1)
	for _, change := range []func(*core.ActivationEntry){
		func(e *core.ActivationEntry) { e.Epoch++ },
		func(e *core.ActivationEntry) { e.Epoch-- },
		func(e *core.ActivationEntry) { e.Owner = two },
	} {
		e := entryOf(lease, nil)
		change(&e)
		wantError(t, s.Store(ctx, lease, e), placement.ErrStale)
	}
	if e := must[*core.ActivationEntry](t)(s.Load(ctx, alice)); e != nil {
		t.Errorf("stored: %+v", e)
	}
}

// TestDamage: a value that this package did not write is an error that names its key, in
// each pair, and never an activation.
func TestDamage(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	lease := acquire(t, s, alice, one, 1)
	check(t, s.Store(ctx, lease, entryOf(lease, make([]byte, 200_000))))
	fence := s.Fence(alice, one, lease.Epoch)
	all := pairs(t, db)
	if len(all) != 4 {
		t.Fatalf("there are %d pairs, want a row and three chunks", len(all))
	}
	set := func(key, value []byte) {
		check(t, db.Transact(ctx, func(tx kv.Transaction) error {
			if tx.Set(key, value); value == nil {
				tx.Clear(key)
			}
			return nil
		}))
	}
	for i, pair := range all {
		values := [][]byte{{}, {0}, {0xff}, {0x15, 99}, append(bytes.Clone(pair.Value), 1), pair.Value[:len(pair.Value)/2]}
		if i > 0 {
			values = append(values, nil)
		}
		for _, value := range values {
			set(pair.Key, value)
			_, claim := s.TryAcquire(ctx, claimOf(alice, one, 1))
			if !errors.Is(claim, kvstore.ErrCorrupt) || errors.Is(claim, placement.ErrUnavailable) || !strings.Contains(claim.Error(), tuple.Describe(all[min(i, 1)].Key)) {
				t.Errorf("%x = %.20x: %v", pair.Key, value, claim)
			}
			isNewer := i <= 1 && bytes.Equal(value, []byte{0x15, 99})
			if errors.Is(claim, newer.Err) != isNewer || strings.Contains(claim.Error(), "damaged: restore it from a backup") == isNewer {
				t.Errorf("%x = %.20x: of a newer format: %v, and the error is %v", pair.Key, value, isNewer, claim)
			}
			if err := fence.Check(ctx, begin(t, db)); i == 0 && !errors.Is(err, leasefdb.ErrLeaseLost) {
				t.Errorf("%x = %.20x: the fence says %v", pair.Key, value, err)
			}
			set(pair.Key, pair.Value)
		}
	}
	acquire(t, s, alice, one, 1)
}

// TestRemovedDirectory: after the directory was removed, old fences are not in force, even after
// the keys are claimed again.
func TestRemovedDirectory(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	unclaimed := s.Fence(alice, one, 1)
	lease := acquire(t, s, alice, one, 1)
	fence := s.Fence(alice, one, lease.Epoch)
	check(t, fence.Check(ctx, begin(t, db)))
	wantError(t, unclaimed.Check(ctx, begin(t, db)), placement.ErrActivationLost)
	check(t, directory.Root().Remove(ctx, db, []string{"kazahana", "placement"}))
	wantError(t, fence.Check(ctx, begin(t, db)), leasefdb.ErrLeaseLost)
	wantError(t, s.Store(ctx, lease, entryOf(lease, nil)), placement.ErrStale)
	acquire(t, s, alice, one, 1)
	wantError(t, fence.Check(ctx, begin(t, db)), leasefdb.ErrLeaseLost)
	check(t, s.Fence(alice, one, 1).Check(ctx, begin(t, db)))
}

// TestRows checks the listing of rows, in pages.
func TestRows(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	if rows := must[[]kvstore.Row](t)(s.Rows(ctx, placement.Key{}, 10)); len(rows) != 0 {
		t.Errorf("rows before the first claim: %v", rows)
	}
	var want []placement.Key
	for _, kind := range []string{"a", "ab", "b"} {
		for i := range 7 {
			key := placement.Key{Kind: kind, ID: fmt.Sprint(i)}
			want = append(want, key)
			acquire(t, s, key, one, placement.RequestID(len(want)))
		}
	}
	check(t, s.Remove(ctx, want[3], one, 1))
	var got []placement.Key
	for after := (placement.Key{}); ; {
		page := must[[]kvstore.Row](t)(s.Rows(ctx, after, 4))
		for _, row := range page {
			got = append(got, row.Key)
			if row.Epoch != 1 || row.Free() != (row.Key == want[3]) || !row.Free() && (row.Owner != one || row.Address != "one:80" || row.Topology != 3) {
				t.Errorf("the row is %+v", row)
			}
			after = row.Key
		}
		if len(page) < 4 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	prefix, err := directory.Root().Open(ctx, db, []string{"kazahana", "placement"})
	check(t, err)
	at := append(must[[]byte](t)(prefix.Prefix()), tuple.Tuple{"F", "a", "0"}.MustPack()...)
	check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(at, []byte{0x15, 99}); return nil }))
	page := must[[]kvstore.Row](t)(s.Rows(ctx, placement.Key{}, 2))
	if len(page) != 2 || page[0].Key != want[0] || !errors.Is(page[0].Err, kvstore.ErrCorrupt) || !strings.Contains(page[0].Err.Error(), tuple.Describe(at)) || page[1].Key != want[1] || page[1].Err != nil {
		t.Errorf("with a row that cannot be read: %+v", page)
	}
	for _, limit := range []int{0, -1, 10_001} {
		if _, err := s.Rows(ctx, placement.Key{}, limit); err == nil {
			t.Errorf("a page of %d rows", limit)
		}
	}
}
