// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// A process dies while it has a call.
func TestMemberDiesDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		nodes := c.start(l, "a", "b")
		client, m := c.client()
		time.Sleep(time.Second) // until all know both members
		id := c.ownedBy(nodes[0])
		before := l.counts[id]
		lost, repeated := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := m.add.Call(t.Context(), id, time.Hour)
			lost <- err
		}()
		synctest.Wait()
		go func() {
			_, err := m.retried.Call(t.Context(), id, time.Second)
			repeated <- err
		}()
		synctest.Wait()
		nodes[0].peer.Kill()
		if err := <-lost; !errors.Is(err, host.ErrOutcomeUnknown) || !errors.Is(err, hosttest.ErrReplyLost) {
			t.Errorf("the call that it had: %v", err)
		}
		time.Sleep(5 * time.Second) // others still take it for alive
		l.do(func() { l.active[id] = 0 })
		c.evict("a", false)
		if err := <-repeated; err != nil {
			t.Errorf("the call that may be repeated: %v", err)
		}
		if h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: id}); h.Owner.Name != "b" || l.counts[id] != before+1 {
			t.Errorf("%v has the key; %d calls were handled", h, l.counts[id]-before)
		}
		stop(t, nodes[1])
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = nodes[0].Stop(ended)
		time.Sleep(2 * time.Hour)
		_ = client.Stop(t.Context())
	})
}

// A host that lost its membership ends what it has and becomes a member again.
func TestHostJoinsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		first := n.owner(t)
		hanging := make(chan error, 1)
		go func() {
			_, err := n.hang.Call(t.Context(), "x", 0)
			hanging <- err
		}()
		synctest.Wait()
		c.evict("a", true)
		if err := <-hanging; !errors.Is(err, placement.ErrActivationLost) {
			t.Errorf("the context of a call ended with %v", err)
		}
		if _, err := n.add.Call(t.Context(), "x", 0); err != nil {
			t.Errorf("a call after that: %v", err)
		}
		if second := n.owner(t); second.Name != "a" || second.Incarnation <= first.Incarnation {
			t.Errorf("it is %v, was %v", second, first)
		}
		l.check(t)
		stop(t, n)
	})
}

// TestHostWithAStuckHandler: a host that lost its membership, and has a handler that does not end, joins like any
// other member, so that the keys of the lost one wait for the lapse of its lease. Once all handlers have ended it joins in
// the place of the lost membership again.
func TestHostWithAStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		lose := func(longer time.Duration) (rejoined int) {
			first := n.owner(t)
			go func() { _, _ = n.hang.Call(t.Context(), "x", longer) }()
			time.Sleep(time.Second)
			c.evict("a", true)
			time.Sleep(time.Minute)
			if second := n.owner(t); second.Incarnation <= first.Incarnation {
				t.Errorf("it is %v, was %v", second, first)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.rejoined
		}
		if n := lose(time.Hour); n != 0 {
			t.Error("it has joined in the place of a membership of which a handler runs")
		}
		time.Sleep(2 * time.Hour)
		if n := lose(0); n != 1 {
			t.Error("it has not joined in the place of a membership of which nothing runs")
		}
		stop(t, n)
	})
}

// TestClaimsAfterAnOutage: all members lose their memberships, as in an outage that is longer than the
// lease. Once they have joined again they do not claim all keys at once.
func TestClaimsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		nodes := c.start(l, "a", "b", "c")
		client, m := c.client()
		const keys = 6000
		callAll := func() (within int) { // how many calls have ended after a tenth of a second
			began := time.Now()
			var early atomic.Int32
			var group sync.WaitGroup
			for i := range keys {
				group.Go(func() {
					if _, err := m.add.Call(t.Context(), fmt.Sprint(i), 0); err != nil {
						t.Error(err)
					}
					if time.Since(began) < time.Second/10 {
						early.Add(1)
					}
				})
			}
			group.Wait()
			return int(early.Load())
		}
		time.Sleep(time.Second) // until all know all members
		if n := callAll(); n != keys {
			t.Errorf("after the start %d of %d calls end soon", n, keys)
		}
		time.Sleep(host.DefaultLease) // until the hosts have counted their activations
		for _, name := range []string{"a", "b", "c"} {
			c.evict(name, true)
		}
		time.Sleep(time.Second) // until all know all members again
		if n := callAll(); n > keys/3 {
			t.Errorf("after the outage %d of %d keys are claimed at once", n, keys)
		}
		time.Sleep(time.Minute)
		if n := callAll(); n != keys {
			t.Errorf("later %d of %d calls end soon", n, keys)
		}
		l.check(t)
		stop(t, nodes...)
		_ = client.Stop(t.Context())
	})
}

func TestNamesOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		other := c.open(l, host.Options{Name: "a"})
		if err := other.Start(t.Context()); !errors.Is(err, errAlive) {
			t.Errorf("a second host of the name: %v", err)
		}
		if err := n.Start(t.Context()); !errors.Is(err, host.ErrStarted) {
			t.Errorf("a second Start: %v", err)
		}
		stop(t, n)
		if err := other.Start(t.Context()); err != nil {
			t.Errorf("after the first has stopped: %v", err)
		}
		stop(t, other)
	})
}

func TestUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		began := time.Now()
		if err := n.Call(t.Context(), placement.Key{Kind: "other", ID: "x"}, "m", 1, nil); !errors.Is(err, placement.ErrNoMember) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := n.Call(t.Context(), placement.Key{Kind: "counter"}, "add", 1, nil); !errors.Is(err, placement.ErrInvalidKey) {
			t.Errorf("an empty id: %v", err)
		}
		stop(t, n)
	})
}

// Stop waits for what runs, until its context ends.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		n := c.start(l, "a")[0]
		slow := make(chan error, 1)
		go func() {
			_, err := n.add.Call(t.Context(), "slow", 3*time.Second)
			slow <- err
		}()
		synctest.Wait()
		began := time.Now()
		stop(t, n)
		if err := <-slow; err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("a call that runs at Stop: %v after %v", err, time.Since(began))
		}
		if _, err := n.add.Call(t.Context(), "slow", 0); !errors.Is(err, placement.ErrStopped) {
			t.Errorf("a call after Stop: %v", err)
		}

		n = c.start(l, "b")[0]
		go func() { _, _ = n.hang.Call(t.Context(), "stuck", time.Hour) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := n.Stop(ctx); err == nil || time.Since(began) > 5*time.Second {
			t.Errorf("Stop with a handler that does not return: %v after %v", err, time.Since(began))
		}
		if _, member := c.members["b"]; member {
			t.Error("it has not left")
		}
		time.Sleep(2 * time.Hour)
	})
}
