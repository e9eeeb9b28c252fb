// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClaimExpires: another process's claim expires when this one has seen it unchanged
// for a lease on its own clock; a change of its beats begins the lease anew.
func TestClaimExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	r := NewRun(nil, Options{Lease: 10 * time.Second, Now: func() time.Time { return now }})
	claim := Range{End: []byte{0xff}, Worker: []byte("another"), Beats: 1, Estimate: 1}
	own := Range{Begin: []byte("c"), Next: []byte("c"), End: []byte{0xff}, Worker: append([]byte(nil), r.id...), Estimate: 1}
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

// TestProgress adds up ranges in all states: done with fewer bytes than were estimated,
// claimed with more, and not begun.
func TestProgress(t *testing.T) {
	done := Range{Begin: nil, Next: []byte("b"), End: []byte("b"), Records: 10, Bytes: 50, Estimate: 100, Busy: 2 * time.Second}
	claimed := Range{Begin: []byte("b"), Next: []byte("bb"), End: []byte("c"), Worker: []byte("w"), Records: 3, Bytes: 40, Estimate: 100, Busy: time.Second}
	beyond := Range{Begin: []byte("c"), Next: []byte("cc"), End: []byte("d"), Worker: []byte("v"), Records: 5, Bytes: 900, Estimate: 100, Busy: 3 * time.Second}
	free := Range{Begin: []byte("d"), Next: []byte("d"), End: []byte{0xff}, Estimate: 180}
	got := NewProgress([]Range{done, claimed, beyond, free})
	want := Progress{
		Ranges: 4, RangesDone: 1, Records: 18, Bytes: 990, Estimate: 480, Done: 240, Workers: 2,
		Remaining: 3 * time.Second, // 6 s for 240 bytes, 240 are left, 2 workers
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := NewProgress([]Range{free}); got.Remaining != 0 || got.Done != 0 {
		t.Errorf("before the first batch: %+v", got)
	}
	if got := NewProgress([]Range{done}); got.Remaining != 0 || got.Done != got.Estimate {
		t.Errorf("after the last batch: %+v", got)
	}
}
