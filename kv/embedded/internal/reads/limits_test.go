// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestLimits counts pairs of ten bytes, of which each counts eight more.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		want   int // pairs until the limits are reached
	}{
		"rows":                          {Limits{Rows: 4, Bytes: Unlimited}, 4},
		"bytes":                         {Limits{Rows: Unlimited, Bytes: 37}, 3},
		"bytes, exactly":                {Limits{Rows: Unlimited, Bytes: 36}, 2},
		"bytes, but rows are missing":   {Limits{Rows: Unlimited, Bytes: 1, Least: 5}, 5},
		"rows before those that must":   {Limits{Rows: 2, Bytes: 1, Least: 5}, 2},
		"bytes after those that must":   {Limits{Rows: Unlimited, Bytes: 100, Least: 2}, 6},
		"no rows":                       {Limits{Rows: 0, Bytes: Unlimited}, 0},
		"no bytes, and none is missing": {Limits{Rows: Unlimited, Bytes: 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := c.limits, 0
			for ; !l.Reached() && n < 100; n++ {
				l.Count(10)
			}
			if n != c.want {
				t.Errorf("reached after %d pairs, want %d", n, c.want)
			}
		})
	}
}

// steps counts steps until the budget ends the read, at most n.
func steps(b *Budget, n int) (taken int, err error) {
	for ; taken < n && err == nil; taken++ {
		err = b.Step()
	}
	return taken, err
}

func TestBudget(t *testing.T) {
	var abandoned, wanted atomic.Bool
	abandoned.Store(true)
	for name, c := range map[string]struct {
		budget Budget
		taken  int
		err    error
	}{
		"no bound":                    {Budget{}, 10_000, nil},
		"wanted":                      {Budget{Abandon: &wanted}, 10_000, nil},
		"abandoned":                   {Budget{Abandon: &abandoned}, StepsBetweenChecks, ErrAbandoned},
		"steps":                       {Budget{Most: 3 * StepsBetweenChecks}, 3 * StepsBetweenChecks, ErrNotAtHand},
		"steps, checked later":        {Budget{Most: 100}, 2 * StepsBetweenChecks, ErrNotAtHand},
		"steps of reads before":       {Budget{Used: 90, Most: 100}, 2*StepsBetweenChecks - 90, ErrNotAtHand},
		"abandoned, and steps are up": {Budget{Most: 1, Abandon: &abandoned}, StepsBetweenChecks, ErrAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.budget
			taken, err := steps(&b, 10_000)
			if taken != c.taken || !errors.Is(err, c.err) {
				t.Errorf("%d steps and %v, want %d and %v", taken, err, c.taken, c.err)
			}
			if err != nil && !errors.Is(func() error { _, err := steps(&b, StepsBetweenChecks); return err }(), c.err) {
				t.Error("the next check lets the read go on")
			}
		})
	}
}
