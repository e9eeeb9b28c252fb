// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"context"
	"testing"
	"testing/synctest"
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

// TestPace: workers together take what the limit allows, whatever one of them takes at
// once, and save up nothing while they do nothing.
func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pace{perSecond: 1000, now: func() time.Time { return now }}
	for i, step := range []struct {
		later time.Duration
		bytes int
		want  time.Duration
	}{
		{0, 500, 500 * time.Millisecond},
		{0, 2000, 2500 * time.Millisecond}, // another worker, after the first
		{time.Second, 100, 1600 * time.Millisecond},
		{time.Hour, 100, 100 * time.Millisecond},
		{0, 0, 100 * time.Millisecond},
	} {
		now = now.Add(step.later)
		if got := p.take(step.bytes); got != step.want {
			t.Errorf("step %d: waits %v, want %v", i, got, step.want)
		}
	}
	if got := (&pace{now: time.Now}).take(1 << 40); got != 0 {
		t.Errorf("without a limit it waits %v", got)
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
