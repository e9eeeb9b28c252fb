// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/internal/placement/placementtest"
	"github.com/kazahana-db/kazahana/placement"
)

func open(t testing.TB, o memory.Options) *memory.Home {
	t.Helper()
	home, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func TestLocks(t *testing.T) {
	placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
		home := open(t, memory.Options{})
		return placementtest.Home{Lock: home, Storage: home, TTL: memory.DefaultTTL, MaxSnapshot: memory.DefaultMaxSnapshot}
	})
}

func TestKept(t *testing.T) {
	placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
		home := open(t, memory.Options{Kept: true})
		return placementtest.Home{Lock: home, Storage: home, Kill: home.Evict, MaxSnapshot: memory.DefaultMaxSnapshot}
	})
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		options memory.Options
		faults  int
	}{
		{memory.Options{}, 0},
		{memory.Options{TTL: time.Nanosecond, MaxSnapshot: 1}, 0},
		{memory.Options{Kept: true}, 0},
		{memory.Options{Kept: true, TTL: time.Second}, 1},
		{memory.Options{TTL: -1, MaxSnapshot: -1}, 2},
		{memory.Options{Kept: true, TTL: -1, MaxSnapshot: -1}, 3},
	} {
		err := c.options.Validate()
		if got := len(strings.Split(fmt.Sprint(err), "\n")); err == nil && c.faults != 0 || err != nil && got != c.faults {
			t.Errorf("%+v: got %v, want %d faults", c.options, err, c.faults)
		}
		if _, made := memory.New(c.options); (made == nil) != (err == nil) {
			t.Errorf("%+v: New returns %v, Validate %v", c.options, made, err)
		}
	}
}

// TestFreeKeysTakeNoMemory checks that a key that is free again has no row, though
// its epochs go on.
func TestFreeKeysTakeNoMemory(t *testing.T) {
	for _, o := range []memory.Options{{}, {Kept: true}} {
		home := open(t, o)
		owner := placement.Owner{Name: "a", Incarnation: 1}
		last := int64(0)
		for i := range 100 {
			key := placement.Key{Kind: "thing", ID: fmt.Sprint(i % 10)}
			lease, err := home.TryAcquire(t.Context(), core.TryAcquire{RequestID: placement.RequestID(i + 1), Key: key, Owner: owner})
			if err != nil || lease.Epoch <= last {
				t.Fatalf("got %+v and %v after epoch %d", lease, err, last)
			}
			last = lease.Epoch
			if got, held := home.Holder(key); !held || got.Owner != owner || got.Epoch != last {
				t.Errorf("the holder is %+v, %v", got, held)
			}
			if err := home.Release(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
			if _, held := home.Holder(key); held || home.Len() != 0 {
				t.Errorf("%d rows after a release", home.Len())
			}
		}
	}
}

// TestEvictedLocks checks that an eviction ends locks that have not lapsed, also
// those of earlier incarnations, and no later one's.
func TestEvictedLocks(t *testing.T) {
	home := open(t, memory.Options{})
	claim := func(owner placement.Owner, id string) error {
		_, err := home.TryAcquire(t.Context(), core.TryAcquire{RequestID: 1, Key: placement.Key{Kind: "thing", ID: id}, Owner: owner})
		return err
	}
	a1, a2, a3 := placement.Owner{Name: "a", Incarnation: 1}, placement.Owner{Name: "a", Incarnation: 2}, placement.Owner{Name: "a", Incarnation: 3}
	b := placement.Owner{Name: "b", Incarnation: 1}
	if err := errors.Join(claim(a1, "1"), claim(a2, "2"), claim(a3, "3")); err != nil {
		t.Fatal(err)
	}
	mine := func(owner placement.Owner, epoch int64, id string) error {
		l := core.Lease{Key: placement.Key{Kind: "thing", ID: id}, Owner: owner, Epoch: epoch}
		return home.Store(t.Context(), l, core.ActivationEntry{Owner: owner, Epoch: epoch})
	}
	if err := mine(a2, 2, "2"); err != nil {
		t.Fatal(err)
	}
	home.Evict(a2)
	if err := mine(a2, 2, "2"); !errors.Is(err, placement.ErrStale) {
		t.Errorf("a dead owner stores what no other has claimed: got %v", err)
	}
	if err := errors.Join(claim(b, "1"), claim(b, "2")); err != nil {
		t.Error(err)
	}
	if err := claim(b, "3"); !errors.Is(err, placement.ErrHeld) {
		t.Errorf("a live owner's key: got %v", err)
	}
	for _, dead := range []placement.Owner{a1, a2} {
		if err := claim(dead, "4"); !errors.Is(err, placement.ErrStale) {
			t.Errorf("%s: got %v", dead, err)
		}
	}
}
