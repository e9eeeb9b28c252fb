// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"time"
)

// waitSlice is how long a generator sleeps before it looks again at a clock
// that was set back: someone may set it right meanwhile.
const waitSlice = 50 * time.Millisecond

// clock reads the time as timestamps of a layout.
type clock struct {
	now         func() time.Time
	layout      Layout
	maxBackward time.Duration // see Options.MaxBackward
}

// ts returns the current timestamp, which may be out of range.
func (k *clock) ts() int64 { return k.now().UnixMilli() - k.layout.EpochMs }

// check returns an error if ts does not fit the layout.
func (k *clock) check(ts int64) error {
	if ts >= 1 && ts <= k.layout.maxTs() {
		return nil
	}
	return k.layout.timeRangeError(time.UnixMilli(k.layout.EpochMs + ts))
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
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return pause, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("idgen: gave up waiting: %w: %w", context.Cause(ctx), &ClockBackwardError{Backward: backward, Limit: k.maxBackward})
	}
}

// maxMillis is the longest time.Duration in whole milliseconds.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)
