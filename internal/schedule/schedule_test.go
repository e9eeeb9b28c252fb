// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"
)

// TestOrder checks the order of events, of those of one time too, and of one that an
// event plans for the past.
func TestOrder(t *testing.T) {
	var s schedule.Schedule
	var got []string
	at := func(d time.Duration, name string) { s.After(d, func() { got = append(got, name) }) }
	at(2, "c")
	at(1, "a")
	at(1, "b")
	s.After(2, func() { at(-5, "d") })
	at(9, "late")
	for s.Next(5) {
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || s.Now() != 5 {
		t.Errorf("got %q at %d, want %q at 5", got, s.Now(), want)
	}
	if s.Next(4) || s.Now() != 5 {
		t.Errorf("the time went back to %d", s.Now())
	}
}
