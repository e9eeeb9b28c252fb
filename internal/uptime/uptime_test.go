// SPDX-License-Identifier: Apache-2.0

package uptime

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestElapsed checks that the clock is that of time.Since while nothing sleeps,
// and follows the virtual time of a test.
func TestElapsed(t *testing.T) {
	begin, c := time.Now(), New()
	for range 1000 {
		before := c.Elapsed(time.Now())
		if least, after := time.Since(begin), c.Elapsed(time.Now()); after < before || after > time.Since(begin)+time.Second || least-after > time.Second {
			t.Fatalf("it goes from %v to %v, where %v have passed", before, after, least)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := New()
		time.Sleep(time.Hour)
		if got := c.Elapsed(time.Now()); got != time.Hour {
			t.Errorf("after an hour of virtual time it tells %v", got)
		}
	})
}
