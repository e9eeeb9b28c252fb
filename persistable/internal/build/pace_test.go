// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"
	"time"
)

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
		{0, 2000, 2500 * time.Millisecond}, // another worker, behind the first
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
