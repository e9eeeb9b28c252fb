// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// TestActorsAnswerSoonAfterAnOutage: a host with a few activations claims them again as soon as the
// database answers: a second for the pause between two tries to join, a second for that
// between two tries to call.
func TestActorsAnswerSoonAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		a := startBank(t, lent{engine}, hosttest.NewNetwork(), "a")
		defer a.db.Close()
		const keys = 16
		callAll := func() {
			var group sync.WaitGroup
			errs := make([]error, keys)
			for i := range keys {
				group.Go(func() { _, errs[i] = a.deposit.Call(t.Context(), fmt.Sprint("account ", i), 1) })
			}
			group.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		}
		callAll()
		a.freezer.freeze()
		time.Sleep(2 * host.DefaultLease)
		thawed := make(chan time.Time, 1)
		time.AfterFunc(host.DefaultLease, func() { a.freezer.thaw(); thawed <- time.Now() })
		callAll()
		took := time.Since(<-thawed)
		if took > 2500*time.Millisecond {
			t.Errorf("the last of %d actors answers %v after the outage", keys, took)
		}
		a.stop(t)
	})
}
