// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// waitSlice is how long a generator sleeps before it looks again at a clock
	// that was set back: someone may set it right meanwhile.
	waitSlice = 50 * time.Millisecond

	// maxForward is how far the clock may run ahead of the monotonic one, since
	// the last millisecond entered, before that is a jump.
	maxForward = 5 * time.Second

	// jumpPatience is how long a jump must last before it is believed where no
	// lease can tell.
	jumpPatience = 10 * time.Second
)

// clock reads the time in Unix milliseconds, and watches it by the monotonic
// clock. The two differ by an offset, which moves slowly while the clock is
// kept right. A wall clock far ahead of it was set forward, or the machine, or
// the copy of it that this is, was not running. A generator that followed such
// a clock and then saw it set right again would have to wait until it catches
// up, for years perhaps; so the time goes on by the monotonic clock until
// someone says that the wall clock is right. A wall clock behind is the cursor's
// business: it shows there as a timestamp before the last one.
type clock struct {
	now         func() time.Time
	mono        func() time.Duration // nil: the monotonic reading of now
	base        time.Time
	maxBackward time.Duration // see Options.MaxBackward

	offset atomic.Int64 // wall minus monotonic milliseconds when last believed
	jumped atomic.Int64 // monotonic milliseconds, plus 1, when a jump was noticed; 0: none is going on
}

func (k *clock) init(o Options) {
	k.now, k.mono, k.maxBackward = o.Now, o.mono, *o.MaxBackward
	k.base = k.now()
	k.offset.Store(k.base.UnixMilli() - k.monotonic(k.base))
}

// reading is one look at the clock.
type reading struct {
	ms     int64 // the time to go by, Unix milliseconds
	wall   int64 // what the clock says
	mono   int64
	offset int64 // that it was judged by
}

// ahead reports whether the wall clock is not to be believed.
func (r reading) ahead() bool { return r.ms != r.wall }

// read looks at the clock.
func (k *clock) read() reading {
	t := k.now()
	r := reading{wall: t.UnixMilli(), mono: k.monotonic(t), offset: k.offset.Load()}
	r.ms = r.wall
	if steady := r.mono + r.offset; r.wall-steady > maxForward.Milliseconds() {
		r.ms = steady
	}
	return r
}

func (k *clock) monotonic(t time.Time) int64 {
	if k.mono != nil {
		return k.mono().Milliseconds()
	}
	return t.Sub(k.base).Milliseconds()
}

// believe makes the wall clock of r what later readings are judged by.
func (k *clock) believe(r reading) {
	if offset := r.wall - r.mono; offset != r.offset {
		k.offset.CompareAndSwap(r.offset, offset)
	}
	if k.jumped.Load() != 0 {
		k.jumped.Store(0)
	}
}

// noticeJump reports whether r is the first reading of a jump.
func (k *clock) noticeJump(r reading) bool { return k.jumped.CompareAndSwap(0, r.mono+1) }

// lasting reports whether the jump has gone on for so long that it is believed.
func (k *clock) lasting(r reading) bool {
	return r.mono+1-k.jumped.Load() >= jumpPatience.Milliseconds()
}

// waitBehind sleeps once, for at most a waitSlice, because the clock is behind
// milliseconds before the last timestamp. slept is what earlier calls slept
// during the same wait: a clock that stands still or keeps going back must not
// hold a caller for longer than the limit. It returns how long it slept.
func (k *clock) waitBehind(ctx context.Context, behind int64, slept time.Duration) (time.Duration, error) {
	backward := time.Duration(min(behind, maxMillis)) * time.Millisecond
	if k.maxBackward >= 0 && (backward.Milliseconds() > k.maxBackward.Milliseconds() || slept-waitSlice > k.maxBackward) {
		return 0, &ClockBackwardError{Backward: backward, Limit: k.maxBackward}
	}
	pause := min(backward, waitSlice)
	if err := sleep(ctx, pause); err != nil {
		return 0, fmt.Errorf("idgen: gave up waiting: %w: %w", err, &ClockBackwardError{Backward: backward, Limit: k.maxBackward})
	}
	return pause, nil
}

// sleep waits for d, or returns the cause of ctx's end.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxMillis is the longest time.Duration in whole milliseconds.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)
