// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLimitsAreForgotten: a limit is forgotten once its token may make as many requests at once as
// a new one, and not before.
func TestLimitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limits{rate: 1, burst: 2}
		who := [32]byte{1}
		for i := range 3 {
			if err := l.allowRequest(who, time.Now()); (err != nil) != (i == 2) {
				t.Errorf("request %d: %v", i+1, err)
			}
		}
		l.forgetIdle()
		if l.allowRequest(who, time.Now()) == nil {
			t.Error("a limit was forgotten while it was in force")
		}
		time.Sleep(2 * time.Second)
		l.forgetIdle()
		l.byWho.Range(func(any, any) bool {
			t.Error("a limit is in memory that has no effect")
			return true
		})
	})
}
