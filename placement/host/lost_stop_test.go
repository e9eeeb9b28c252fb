// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/host"
)

// lostStorage cannot be reached to remove entries.
type lostStorage struct{ driver.Storage }

func (lostStorage) Remove(context.Context, placement.Key, placement.Owner, int64) error {
	return placement.ErrUnavailable
}

// A host that stops without a database waits for no longer than its membership lasts: after that
// others may have its activations, and there is nothing to hand back.
func TestMembershipIsLostDuringStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		c.unreachable = true
		n := c.start(l, "a")[0]
		if _, err := n.add.Call(t.Context(), "x", 0); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Second, func() { c.evict("a", true) })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := n.Stop(ctx)
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+host.DefaultDeactivateTimeout {
			t.Errorf("Stop takes %v", took)
		}
		if !errors.Is(err, placement.ErrActivationLost) {
			t.Error("Stop does not say that the membership was lost:", err)
		}
		if l.active["x"] != 0 {
			t.Error("the activation has not ended")
		}
	})
}
