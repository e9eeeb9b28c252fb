// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector makes crypto/rand allocate.

package idgen

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestNextDoesNotAllocate(t *testing.T) {
	var ms atomic.Int64
	now := func() time.Time { return epoch.Add(time.Duration(ms.Add(1)/3+10) * time.Millisecond) } // a new millisecond each few calls
	c := Must(NewClient(Options{Now: now}))
	ids := make([]ID, 64)
	allocs := testing.AllocsPerRun(1000, func() {
		Must(c.Next(context.Background()))
		Must(c.NextN(context.Background(), ids))
	})
	if allocs != 0 {
		t.Errorf("%v allocations for Next and NextN, want 0", allocs)
	}
}

func TestManagedNextDoesNotAllocate(t *testing.T) {
	var ms atomic.Int64
	now := func() time.Time { return epoch.Add(time.Duration(ms.Add(1)/3+10) * time.Millisecond) }
	c := Must(NewClient(Options{Now: now, Logger: quiet, Provider: answers(func(AcquireRequest) ([]Lease, error) {
		return []Lease{leaseOf(now(), 1, 8), leaseOf(now(), 5, 8)}, nil // two blocks
	})}))
	defer c.Shutdown(context.Background())
	Must(c.Next(context.Background()))
	ids := make([]ID, 64)
	allocs := testing.AllocsPerRun(1000, func() {
		Must(c.Next(context.Background()))
		Must(c.NextN(context.Background(), ids))
	})
	if allocs != 0 {
		t.Errorf("%v allocations for Next and NextN, want 0", allocs)
	}
}

func TestNewIDOfAClientDoesNotAllocate(t *testing.T) {
	k := newManualClock(0)
	d := newDefaults(Must(NewClient(Options{Now: k.now})))
	allocs := testing.AllocsPerRun(1000, func() {
		k.ms.Add(1)
		if d.newID() == 0 {
			t.Fatal("no ID")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestSourcesDoNotAllocate(t *testing.T) {
	var ulids ULIDSource
	var uuids UUIDSource
	allocs := testing.AllocsPerRun(1000, func() {
		Must(ulids.Next(context.Background()))
		Must(uuids.Next(context.Background()))
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestIDTextDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 32)
	id := ID(math.MaxInt64)
	allocs := testing.AllocsPerRun(100, func() {
		buf, _ = id.AppendText(buf[:0])
		if err := id.UnmarshalText(buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("AppendText and UnmarshalText: %v allocations, want 0", allocs)
	}
}
