// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestCompare checks that the same flags print the same table, and that the table has a row for each
// surroundings.
func TestCompare(t *testing.T) {
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := compare(b, contests[:1], 3); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Errorf("two runs differ:\n%s\n%s", &first, &second)
	}
	if rows := strings.Count(first.String(), "\n|"); rows != 2+2*len(allSurroundings) {
		t.Errorf("%d rows:\n%s", rows, &first)
	}
}

// TestEqualMeans checks that the entrants of a contest have timeouts of the same mean, within 1 %,
// except those that say otherwise.
func TestEqualMeans(t *testing.T) {
	for _, c := range contests {
		want := c.entrants[0].meanTimeout()
		for _, e := range c.entrants {
			if d := e.meanTimeout() - want; !strings.Contains(e.name, "mean") && d.Abs() > want/100 {
				t.Errorf("%s: mean %v, want %v", e.name, e.meanTimeout(), want)
			}
		}
	}
}

// meanTimeout returns the mean of the election timeout: ticks are drawn from n to 2n - 1, and the first one
// comes half a tick after a contact.
func (e entrant) meanTimeout() time.Duration {
	if e.ticks != nil {
		return time.Duration((3*float64(e.ticks.Election)/2 - 1) * float64(e.ticks.Every))
	}
	timing, err := e.timing.WithDefaults()
	if err != nil {
		panic(err)
	}
	return (timing.ElectionTimeoutMin + timing.ElectionTimeoutMax) / 2
}
