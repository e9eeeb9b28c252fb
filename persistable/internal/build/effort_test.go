// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"
	"time"
)

// TestEffort leads an effort through successes and failures: it doubles until the first
// failure, then grows by a tenth; a failure halves what was taken; the pause after
// conflicts doubles and halves.
func TestEffort(t *testing.T) {
	e := newEffort(1000)
	for i, step := range []struct {
		do    func()
		bytes int
		pause time.Duration
	}{
		{e.grow, 128 << 10, 0},
		{e.grow, 256 << 10, 0},
		{e.grow, maxBatch, 0},
		{func() { e.shrink(Portion{Records: 100, Bytes: 60_000}) }, 30_000, 0},
		{e.slowDown, 30_000, 5 * time.Millisecond},
		{e.slowDown, 30_000, 10 * time.Millisecond},
		{e.grow, 33_001, 5 * time.Millisecond},
		{e.grow, 36_302, 0},
		{func() { e.shrink(Portion{Records: 1, Bytes: 100}) }, minBatch, 0},
	} {
		step.do()
		if e.bytes != step.bytes || e.pause != step.pause {
			t.Fatalf("step %d: %d bytes, pause %v, want %d and %v", i, e.bytes, e.pause, step.bytes, step.pause)
		}
	}
	if e.records != 1 {
		t.Errorf("%d records, want 1", e.records)
	}
	for range 20 {
		e.slowDown()
	}
	if e.pause != time.Second {
		t.Errorf("the longest pause is %v", e.pause)
	}
	for range 200 {
		e.grow()
	}
	if e.records != 1000 || e.bytes != maxBatch || e.pause != 0 {
		t.Errorf("after many successes: %+v", e)
	}
}

// TestEffortRest: a worker rests so that it works for its share, and after conflicts at
// least as long as the pause, which ten times of the batch bound.
func TestEffortRest(t *testing.T) {
	for _, c := range []struct {
		took, pause time.Duration
		share       float64
		want        time.Duration
	}{
		{40 * time.Millisecond, 0, 0.5, 40 * time.Millisecond},
		{40 * time.Millisecond, 0, 0.25, 120 * time.Millisecond},
		{40 * time.Millisecond, 0, 1, 0},
		{40 * time.Millisecond, 80 * time.Millisecond, 0.5, 80 * time.Millisecond},
		{40 * time.Millisecond, time.Second, 0.5, 400 * time.Millisecond},
		{400 * time.Millisecond, time.Second, 0.5, time.Second},
		{5 * time.Second, 0, 0.01, 495 * time.Second},
	} {
		if got := (&effort{took: c.took, pause: c.pause}).rest(c.share); got.Round(time.Microsecond) != c.want {
			t.Errorf("%v with share %v, pause %v: rests %v, want %v", c.took, c.share, c.pause, got, c.want)
		}
	}
}
