// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestClaimExpires: another process's claim expires when this one has seen it unchanged
// for a lease on its own clock; a change of its beats begins the lease anew.
func TestClaimExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	r := NewRun(nil, Options{Lease: 10 * time.Second, Now: func() time.Time { return now }})
	claim := Range{End: lastEnd, Worker: []byte("another"), Beats: 1, Estimate: 1}
	own := Range{Begin: []byte("c"), Next: []byte("c"), End: lastEnd, Worker: append([]byte(nil), r.id...), Estimate: 1}
	for i, step := range []struct {
		later   time.Duration
		beats   int64
		expired bool
		wait    time.Duration
	}{
		{0, 1, false, 2500 * time.Millisecond}, // looks again after a quarter
		{9 * time.Second, 1, false, time.Second},
		{500 * time.Millisecond, 2, false, 2500 * time.Millisecond},
		{9900 * time.Millisecond, 2, false, 100 * time.Millisecond},
		{100 * time.Millisecond, 2, true, 0},
	} {
		now = now.Add(step.later)
		claim.Beats = step.beats
		c := r.findExpired([]Range{own, claim})
		if c.expired != step.expired || c.wait != step.wait || c.expired && string(c.rng.Worker) != "another" {
			t.Errorf("step %d: %+v", i, c)
		}
	}
	if c := r.findExpired([]Range{own}); c.rng != nil || c.wait != 0 {
		t.Errorf("it waits for its own worker: %+v", c)
	}
}

// TestMayBeClaimed: a claim that has expired may be replaced only as it was seen.
func TestMayBeClaimed(t *testing.T) {
	seen := Range{Worker: []byte("another"), Beats: 7}
	for name, c := range map[string]struct {
		is   Range
		seen *Range
		want bool
	}{
		"free":              {Range{}, nil, true},
		"own":               {Range{Worker: []byte("me")}, nil, true},
		"another's":         {seen, nil, false},
		"expired":           {seen, &seen, true},
		"renewed":           {Range{Worker: []byte("another"), Beats: 8}, &seen, false},
		"taken by a third":  {Range{Worker: []byte("third"), Beats: 7}, &seen, false},
		"released since":    {Range{Beats: 8}, &seen, true},
		"own, after a look": {Range{Worker: []byte("me"), Beats: 8}, &seen, true},
	} {
		if got := c.is.mayBeClaimed([]byte("me"), c.seen); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRest: a worker rests for the longer of what its share and the limit of bytes demand,
// and ends its rest with its context.
func TestRest(t *testing.T) {
	for name, c := range map[string]struct {
		perSecond int
		want      time.Duration
	}{"share": {0, 3 * time.Second}, "bytes": {100, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			r := NewRun(nil, Options{Share: 0.25, BytesPerSecond: c.perSecond, Lease: time.Minute, Now: time.Now})
			w := worker{Run: r, effort: effort{took: time.Second, taken: 1000}}
			begun := time.Now()
			if err := w.rest(t.Context(), &Range{}); err != nil || time.Since(begun) != c.want {
				t.Errorf("%s: rests %v, want %v: %v", name, time.Since(begun), c.want, err)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun = time.Now()
			if err := w.rest(short, &Range{}); err == nil || time.Since(begun) != time.Second {
				t.Errorf("%s: after its end it rests %v: %v", name, time.Since(begun), err)
			}
		})
	}
}
