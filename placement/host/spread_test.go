// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

// TestClaimsAreSpreadAfterTwoLosses: the database answers for a moment in the middle of an outage, so
// the hosts lose their memberships twice. What they lost first is yet to be claimed.
func TestClaimsAreSpreadAfterTwoLosses(t *testing.T) {
	for losses := 1; losses <= 2; losses++ {
		t.Run(fmt.Sprint(losses), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testClaimsAreSpread(t, losses) })
		})
	}
}

func testClaimsAreSpread(t *testing.T, losses int) {
	const keys = 6000
	c, l := newCluster(t), newLedger()
	names := []string{"a", "b", "c"}
	nodes := c.start(l, names...)
	client, m := c.client()
	callAll := func() (early int32) {
		var claimed atomic.Int32
		var group sync.WaitGroup
		began := time.Now()
		for i := range keys {
			group.Go(func() {
				if _, err := m.add.Call(t.Context(), fmt.Sprint(i), 0); err != nil {
					t.Error(err)
				}
				if time.Since(began) < time.Second/10 {
					claimed.Add(1)
				}
			})
		}
		group.Wait()
		return claimed.Load()
	}
	time.Sleep(time.Second)
	callAll()
	time.Sleep(host.DefaultLease)
	for range losses {
		for _, name := range names {
			c.evict(name, true)
		}
		time.Sleep(time.Second)
	}
	if early := callAll(); early > keys/3 {
		t.Errorf("%d of %d keys are claimed within 0.1 s", early, keys)
	}
	l.check(t)
	stop(t, nodes...)
	_ = client.Stop(t.Context())
}
