// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// steppedClock follows the clock of a synctest bubble, which starts in the
// year 2000, from one year after the epoch, and can be stepped.
type steppedClock struct {
	shift atomic.Int64 // nanoseconds
}

func newSteppedClock() *steppedClock {
	k := new(steppedClock)
	k.step(time.Until(epoch.AddDate(1, 0, 0)))
	return k
}

func (k *steppedClock) now() time.Time       { return time.Now().Add(time.Duration(k.shift.Load())) }
func (k *steppedClock) step(d time.Duration) { k.shift.Add(int64(d)) }

func TestClockSetBack(t *testing.T) {
	const ms, year = time.Millisecond, 365 * 24 * time.Hour
	for _, test := range []struct {
		name        string
		maxBackward *time.Duration
		back        time.Duration
		wait        time.Duration       // how long Next takes
		want        *ClockBackwardError // nil for an ID
	}{
		{name: "default limit, one millisecond", back: ms, wait: ms},
		{name: "default limit, within", back: 1234 * ms, wait: 1234 * ms},
		{name: "default limit, just within", back: 5000 * ms, wait: 5000 * ms},
		{name: "default limit, beyond", back: 5001 * ms, want: &ClockBackwardError{5001 * ms, 5000 * ms}},
		{name: "own limit, within", maxBackward: new(20 * ms), back: 20 * ms, wait: 20 * ms},
		{name: "own limit, beyond", maxBackward: new(20 * ms), back: 21 * ms, want: &ClockBackwardError{21 * ms, 20 * ms}},
		{name: "own limit, far beyond", maxBackward: new(20 * ms), back: 24 * time.Hour, want: &ClockBackwardError{24 * time.Hour, 20 * ms}},
		{name: "before the epoch", back: 2 * year, want: &ClockBackwardError{2 * year, 5000 * ms}},
		{name: "before 1970", back: 60 * year, want: &ClockBackwardError{60 * year, 5000 * ms}},
		{name: "zero", maxBackward: new(0 * ms), back: ms, want: &ClockBackwardError{ms, 0}},
		{name: "negative", maxBackward: new(-1 * ms), back: time.Hour, wait: time.Hour},
		{name: "not back", maxBackward: new(0 * ms)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newSteppedClock()
				c := Must(NewClient(Options{Now: k.now, MaxBackward: test.maxBackward}))
				first := Must(c.Next(t.Context()))
				k.step(-test.back)
				start := time.Now()
				id, err := c.Next(t.Context())
				if took := time.Since(start); took != test.wait {
					t.Errorf("Next took %v, want %v", took, test.wait)
				}
				if test.want != nil {
					var got *ClockBackwardError
					if !errors.As(err, &got) || *got != *test.want || id != 0 {
						t.Errorf("Next = %d, %v; want 0, %v", id, err, test.want)
					}
					k.step(test.back + ms)
					id, err = c.Next(t.Context())
				}
				if err != nil || id <= first {
					t.Errorf("Next = %d, %v; want more than %d", id, err, first)
				}
			})
		})
	}
}

// TestMonotonicClockKeepsTime has a client go by the clock of a synctest bubble,
// and steps the wall clock: as long as a millisecond lasts, by the monotonic
// clock; each other one is what the wall clock says.
func TestMonotonicClockKeepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		start := time.Now()
		random := seed.Rand(t)
		// A millisecond that began close to the last number would be used up,
		// and a caller that spins until it is over stops the time of the
		// bubble.
		low := func() uint64 { return random.Uint64() >> 44 }
		c := Must(newClient(Options{Now: k.now, mono: func() time.Duration { return time.Since(start) }}, low))
		var last ID
		for i := range 20_000 {
			id := Must(c.Next(t.Context()))
			if off := k.now().Sub(id.Time()); id <= last || off < 0 || off >= time.Millisecond {
				t.Fatalf("step %d: ID %d of %v after %d, at %v", i, id, id.Time(), last, k.now())
			}
			last = id
			time.Sleep(time.Duration(random.Int64N(int64(400 * time.Microsecond))))
			if i%100 == 0 { // forward, by less than a jump, into another millisecond
				k.step(2*time.Millisecond + time.Duration(random.Int64N(int64(3*time.Second))))
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// TestMonotonicClockOfTheSystem compares with the system's own clock, read
// before and after.
func TestMonotonicClockOfTheSystem(t *testing.T) {
	c := Must(NewClient(Options{}))
	if !c.clock.monotone {
		t.Fatal("the default clock is not read by time.Since")
	}
	ids := make([]ID, 1)
	for i := range 100_000 {
		before := time.Now()
		id := Must(c.Next(t.Context()))
		if i%2 == 0 {
			Must(c.NextN(t.Context(), ids))
			id = ids[0]
		}
		after := time.Now()
		// A millisecond may seem to end some microseconds early or late: the two
		// clocks are not read at the same moment, and one of them may be slewed.
		const blur = time.Millisecond
		if at := id.Time(); at.Before(before.Add(-time.Millisecond-blur)) || at.After(after.Add(blur)) {
			t.Fatalf("ID of %v, made between %v and %v", at, before, after)
		}
	}
}

// TestMonotonicClockEndsWithItsMillisecond steps the wall clock back in the
// middle of a millisecond: it may be used to its end, and then the clock is
// waited for.
func TestMonotonicClockEndsWithItsMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		start := time.Now()
		c := Must(NewClient(Options{Now: k.now, MaxBackward: new(time.Duration(0)), mono: func() time.Duration { return time.Since(start) }}))
		first := Must(c.Next(t.Context()))
		time.Sleep(first.Time().Add(time.Millisecond).Sub(k.now()) / 2)
		k.step(-time.Second)
		if id := Must(c.Next(t.Context())); !id.Time().Equal(first.Time()) || id <= first {
			t.Errorf("ID %d of %v in the same millisecond as %d of %v", id, id.Time(), first, first.Time())
		}
		time.Sleep(time.Millisecond)
		var backward *ClockBackwardError
		if _, err := c.Next(t.Context()); !errors.As(err, &backward) {
			t.Errorf("in the next millisecond: %v; want a ClockBackwardError", err)
		}
	})
}

func TestClockIsLookedAtAgainWhileWaiting(t *testing.T) {
	t.Run("goes further back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			c := Must(NewClient(Options{Now: k.now}))
			Must(c.Next(t.Context()))
			k.step(-3 * time.Second)
			time.AfterFunc(time.Second, func() { k.step(-4 * time.Second) })
			start := time.Now()
			_, err := c.Next(t.Context())
			var got *ClockBackwardError
			if took := time.Since(start); !errors.As(err, &got) || got.Backward <= 5*time.Second || took > time.Second+waitSlice {
				t.Errorf("Next: %v after %v; want a distance of about 6 s after about 1 s", err, took)
			}
		})
	})
	t.Run("is set right", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			c := Must(NewClient(Options{Now: k.now, MaxBackward: new(time.Duration(-1))}))
			first := Must(c.Next(t.Context()))
			k.step(-time.Hour)
			time.AfterFunc(time.Second, func() { k.step(time.Hour) })
			start := time.Now()
			id := Must(c.Next(t.Context()))
			if took := time.Since(start); id <= first || took > time.Second+waitSlice {
				t.Errorf("ID %d after %v; want more than %d after about 1 s", id, took, first)
			}
		})
	})
	t.Run("stands still", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newManualClock(10_000)
			c := Must(NewClient(Options{Now: k.now, MaxBackward: new(2 * time.Second)}))
			Must(c.Next(t.Context()))
			k.ms.Add(-1000)
			start := time.Now()
			_, err := c.Next(t.Context())
			var got *ClockBackwardError
			if took := time.Since(start); !errors.As(err, &got) || got.Backward != time.Second || took < 2*time.Second || took > 2*time.Second+3*waitSlice {
				t.Errorf("Next: %v after %v; want a ClockBackwardError after about 2 s", err, took)
			}
		})
	})
}

// TestClockWaitEndsWithContext sets the clock of a patient client back, after the
// epoch and before it: the call waits as long as its context, a later one until
// the clock is right.
func TestClockWaitEndsWithContext(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, back := range []time.Duration{year / 2, 2 * year, 60 * year} {
		for _, strict := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				k, right := newSteppedClock(), newSteppedClock()
				opts := Options{Now: k.now, MaxBackward: new(time.Duration(-1)), Logger: quiet}
				if strict {
					opts.Provider, opts.DisableFallback = newGrantor(right.now), true
				}
				c := Must(NewClient(opts))
				defer c.Shutdown(t.Context())
				first := Must(c.Next(t.Context()))
				if strict {
					c.AfterRestore() // the leases are gone as well
				}
				k.step(-back)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				start := time.Now()
				id, err := c.Next(ctx)
				var backward *ClockBackwardError
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &backward) || id != 0 {
					t.Errorf("%v back, strict %v: Next = %d, %v; want 0 and an error that is DeadlineExceeded and a ClockBackwardError", back, strict, id, err)
				}
				if took := time.Since(start); took != 3*time.Second {
					t.Errorf("%v back, strict %v: Next took %v, want 3s", back, strict, took)
				}
				time.AfterFunc(time.Second, func() { k.step(back) })
				if id, err := c.Next(t.Context()); err != nil || id <= first {
					t.Errorf("%v back, strict %v: Next = %d, %v when the clock is right again; want more than %d", back, strict, id, err, first)
				}
			})
		}
	}
}

func TestNewIDWaitsForASmallStepOnly(t *testing.T) {
	for _, test := range []struct {
		back, wait time.Duration
		ok         bool
	}{
		{back: 0, ok: true},
		{back: 300 * time.Millisecond, wait: 300 * time.Millisecond, ok: true},
		{back: 4 * time.Second, wait: newIDWait},
		{back: time.Hour},
	} {
		t.Run(fmt.Sprint(test.back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newSteppedClock()
				d := newDefaults(Must(NewClient(Options{Now: k.now})))
				first := d.newID()
				k.step(-test.back)
				start := time.Now()
				id := d.newID()
				if ok := id > first; ok != test.ok || (!ok && id != 0) {
					t.Errorf("newID = %d after %d, want an ID: %v", id, first, test.ok)
				}
				if took := time.Since(start); took != test.wait {
					t.Errorf("newID took %v, want %v", took, test.wait)
				}
			})
		})
	}
}

func TestClockBackwardErrorText(t *testing.T) {
	for _, test := range []struct {
		err  ClockBackwardError
		want string
	}{
		{
			ClockBackwardError{6 * time.Second, 5 * time.Second},
			"idgen: clock moved backward by 6000ms (limit: 5000ms); check the NTP configuration or the system time settings",
		},
		{
			ClockBackwardError{time.Second, -1},
			"idgen: clock moved backward by 1000ms (no limit); check the NTP configuration or the system time settings",
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("text %q, want %q", got, test.want)
		}
	}
}

// TestOneMillisecondDuringAJump: while the wall clock is not believed, the
// millisecond that is entered is the one that callers take to be still lasting,
// whatever fractions the clocks had when they were last believed.
func TestOneMillisecondDuringAJump(t *testing.T) {
	for fraction := range 10 {
		begin := time.UnixMilli(DefaultCustomEpoch + 1_000_000)
		wall, mono := begin, time.Duration(fraction)*100*time.Microsecond
		k := &clock{}
		k.init(Options{Now: func() time.Time { return wall }, mono: func() time.Duration { return mono }, MaxBackward: new(time.Duration)})
		wall = wall.Add(time.Hour)
		for range 30 {
			wall, mono = wall.Add(100*time.Microsecond), mono+100*time.Microsecond
			if r := k.read(); !r.isAhead() || r.ms != k.currentMs() {
				t.Fatalf("fraction %d: at %v millisecond %d is entered, and %d lasts", fraction, mono, r.ms, k.currentMs())
			}
		}
	}
}

// TestFullMillisecondInABubble uses milliseconds up in a bubble of synctest, where time goes on
// only if all goroutines wait.
func TestFullMillisecondInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		c, end := managed(t, newGrantor(k.now), Options{Now: k.now, MaxThroughput: 8})
		defer end()
		for range 100 {
			Must(c.Next(t.Context()))
		}
		if waits := c.Metrics().Exhausted; waits < 10 {
			t.Errorf("%d milliseconds were used up, want several", waits)
		}
	})
}
