// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/internal/uptime"
)

const (
	// waitSlice is how long a generator sleeps before it reads a clock that was
	// set back again: it may be right by then.
	waitSlice = 50 * time.Millisecond

	// maxForward is how far the clock may run ahead of the monotonic one, since
	// the last millisecond entered, before that is a jump.
	maxForward = 5 * time.Second

	// jumpPatience is how long a jump must last at least before it is believed
	// where no lease can tell.
	jumpPatience = 10 * time.Second
)

// clock reads the time in Unix milliseconds, and watches it by the monotonic
// clock. The two differ by the anchor, which moves slowly while the clock is
// kept right. A wall clock far ahead of it was set forward, or the machine, or
// the copy of it that this is, was not running. A generator that followed such
// a clock and then saw it set right again would have to wait until it catches
// up, for years perhaps; so the time goes on by the monotonic clock until a
// lease or the passed time confirms the wall clock. The cursor notices a wall
// clock that was set back: its timestamp is before the last one.
//
// The monotonic clock alone tells whether the millisecond of the cursor still
// lasts; it takes half as long to read as both: see currentMs. Every other
// millisecond is entered by the wall clock.
type clock struct {
	base     time.Time
	anchor   atomic.Int64 // wall minus monotonic nanoseconds since base, when last believed
	monotone bool         // now is time.Now; time.Since uses its monotonic readings
	_        [64]byte     // what is above is read for each ID and written once a millisecond

	now         func() time.Time
	mono        func() time.Duration // nil: the monotonic reading of now
	maxBackward time.Duration        // see Options.MaxBackward

	jumped atomic.Int64 // monotonic milliseconds, plus 1, when a jump was noticed; 0: none is going on
	jumpTo int64        // the offset during the jump, when last looked at; guarded by the client's mu

	asleep func() time.Duration // how long the machine has slept since base
	woke   time.Duration        // asleep when a jump was last believed; guarded by the client's mu
}

func (k *clock) init(o Options) {
	k.now, k.mono, k.maxBackward = o.Now, o.mono, *o.MaxBackward
	k.base, k.monotone = k.now(), o.monotone
	k.asleep = o.asleep
	if k.asleep == nil {
		k.asleep = sleepSince(uptime.New(), time.Now())
	}
	r := k.read()
	k.anchor.Store(r.anchor)
}

// sleepSince returns a function that tells how long the machine has slept since
// begin, when passed was made: the monotonic readings of times leave that out.
func sleepSince(passed uptime.Clock, begin time.Time) func() time.Duration {
	return func() time.Duration {
		now := time.Now()
		return max(passed.Elapsed(now)-now.Sub(begin), 0)
	}
}

// currentMs returns the Unix millisecond, by the monotonic clock if possible:
// the one that was entered last, as long as it lasts. Any other result has to
// be checked with read, since the wall clock may have been set since then.
func (k *clock) currentMs() int64 {
	var elapsed time.Duration
	switch {
	case k.monotone:
		elapsed = time.Since(k.base)
	case k.mono != nil:
		elapsed = k.mono()
	default:
		return k.now().UnixMilli()
	}
	return steady(elapsed, k.anchor.Load())
}

// noAnchor is the anchor where the wall clock is beyond the year 2262, for which
// no ID can be made.
const noAnchor = math.MinInt64

// steady returns the Unix millisecond by the monotonic clock. All callers use
// this one function: if one were a millisecond ahead, others would still make
// IDs in a millisecond that is over.
func steady(elapsed time.Duration, anchor int64) int64 {
	return (int64(elapsed) + anchor) / int64(time.Millisecond)
}

// read looks at the clock.
func (k *clock) read() clockSample {
	t := k.now()
	elapsed := k.elapsed(t)
	r := clockSample{
		wall: t.UnixMilli(), mono: elapsed.Milliseconds(),
		judge: k.anchor.Load(), anchor: noAnchor,
	}
	if r.wall <= maxMillis && r.wall >= -maxMillis {
		r.anchor = t.UnixNano() - int64(elapsed)
	}
	r.ms = r.wall
	if ms := steady(elapsed, r.judge); r.judge != noAnchor && r.wall-ms > maxForward.Milliseconds() {
		r.ms = ms
	}
	return r
}

// elapsed returns the monotonic time of t.
func (k *clock) elapsed(t time.Time) time.Duration {
	if k.mono != nil {
		return k.mono()
	}
	return t.Sub(k.base)
}

// trust makes the wall clock of r the reference of later samples.
func (k *clock) trust(r clockSample) {
	k.anchor.CompareAndSwap(r.judge, r.anchor) // a goroutine with an old sample does not undo what others have set
	if k.jumped.Load() != 0 {
		k.jumped.Store(0)
	}
}

// noticeJump reports whether r is the first sample of a jump, or of a further
// one on top of it.
func (k *clock) noticeJump(r clockSample) bool {
	further := r.wall - r.mono - k.jumpTo
	k.jumpTo += further
	if k.jumped.Load() != 0 && max(further, -further) <= maxForward.Milliseconds() {
		return false
	}
	k.jumped.Store(r.mono + 1)
	return true
}

// hasLasted reports whether the jump has lasted for so long that it is believed:
// for as long as it is far, less the time that the machine slept. A generator
// that has followed a wrong clock makes no ID, once the clock is right again,
// until it has caught up; so that takes no longer than the clock was wrong. The
// caller holds the client's mu.
func (k *clock) hasLasted(r clockSample) bool {
	slept := k.asleep() - k.woke
	needed := max(r.wall-r.ms-slept.Milliseconds(), jumpPatience.Milliseconds())
	return k.lasted(r) >= needed
}

// lasted returns how many milliseconds ago the jump was noticed.
func (k *clock) lasted(r clockSample) int64 { return r.mono + 1 - k.jumped.Load() }

// believeJump believes the wall clock of r, which is ahead. The caller holds the
// client's mu.
func (k *clock) believeJump(r clockSample) {
	k.trust(r)
	k.woke = k.asleep()
}

// waitFor sleeps once, for at most a waitSlice, because the clock lags the last
// timestamp by lag milliseconds. slept is what earlier calls slept
// during the same wait: a clock that stands still or keeps going back must not
// hold a caller for longer than the limit. It returns how long it slept.
func (k *clock) waitFor(ctx context.Context, lag int64, slept time.Duration) (time.Duration, error) {
	backward := time.Duration(min(lag, maxMillis)) * time.Millisecond
	if k.maxBackward >= 0 && (backward.Milliseconds() > k.maxBackward.Milliseconds() || slept-waitSlice > k.maxBackward) {
		return 0, &ClockBackwardError{Backward: backward, Limit: k.maxBackward}
	}
	pause := min(backward, waitSlice)
	if err := sleep.For(ctx, pause); err != nil {
		return 0, fmt.Errorf("idgen: gave up waiting: %w: %w", err, &ClockBackwardError{Backward: backward, Limit: k.maxBackward})
	}
	return pause, nil
}

// maxMillis is the longest time.Duration in whole milliseconds.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)

// clockSample is one reading of the clock.
type clockSample struct {
	ms     int64 // the time to use, Unix milliseconds
	wall   int64 // the wall clock
	mono   int64
	judge  int64 // the anchor that it was compared with
	anchor int64 // its own; see clock
}

// isAhead reports whether the wall clock is too far ahead to be believed.
func (r clockSample) isAhead() bool { return r.ms != r.wall }

// ClockBackwardError says that the clock lags the last timestamp that the
// generator used by more than the generator may wait. No id was made; the generator
// answers again once the clock has caught up. See [Options.MaxBackward].
type ClockBackwardError struct {
	Backward time.Duration // how far the clock lags, in whole milliseconds
	Limit    time.Duration // the limit in force; negative for none
}

// Error names the distance, the limit and the remedy.
func (e *ClockBackwardError) Error() string {
	limit := "no limit"
	if e.Limit >= 0 {
		limit = fmt.Sprintf("limit: %dms", e.Limit.Milliseconds())
	}
	return fmt.Sprintf("idgen: clock moved backward by %dms (%s); check the NTP configuration or the system time settings",
		e.Backward.Milliseconds(), limit)
}
