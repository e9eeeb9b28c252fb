// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
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

// TestStopKeepsItsDeadline: Stop returns when its context ends, even if the host waits for a handler
// of a membership that is lost, and the host is not a member once that is over.
func TestStopKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		go func() { _, _ = n.hang.Call(t.Context(), "x", time.Minute) }()
		synctest.Wait()
		c.evict("a", true)
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
			t.Errorf("Stop returned after %v: %v", time.Since(began), err)
		}
		time.Sleep(time.Hour)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.members["a"] != nil {
			t.Error("after Stop it is a member still")
		}
	})
}

// TestStopTwice: a Stop that comes while another one runs waits for it, and returns its error.
func TestStopTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		go func() { _, _ = n.add.Call(t.Context(), "x", 3*time.Second) }()
		synctest.Wait()
		began := time.Now()
		first := make(chan error, 1)
		go func() { first <- n.Stop(t.Context()) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Stop(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second Stop with a context that ends returns %v", err)
		}
		err := n.Stop(t.Context())
		if took := time.Since(began); took != 3*time.Second || err != nil {
			t.Errorf("a second Stop returns %v after %v, while the first one runs", err, took)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}

		c.unreachable = true
		n = c.start(l, "b")[0]
		if _, err := n.add.Call(t.Context(), "y", 0); err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if failed := n.Stop(ended); failed == nil || n.Stop(t.Context()) != failed {
			t.Errorf("after a Stop that has failed with %v another one returns something else", failed)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.members["b"] != nil {
			t.Error("Stop has returned after the end of its context, and the host is still a member")
		}
	})
}
