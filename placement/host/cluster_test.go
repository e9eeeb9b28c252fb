// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

func TestOneActivationForManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		nodes := c.start(l, "a", "b", "c")
		client, m := c.client()
		callers := []methods{nodes[0].methods, nodes[1].methods, nodes[2].methods, m}
		var group sync.WaitGroup
		const keys = 50
		for _, caller := range callers {
			for i := range keys {
				group.Go(func() {
					for range 3 {
						if _, err := caller.add.Call(t.Context(), fmt.Sprint(i), time.Millisecond); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		group.Wait()
		if l.opened != keys {
			t.Errorf("%d activations of %d keys", l.opened, keys)
		}
		for id, n := range l.counts {
			if n != 3*len(callers) {
				t.Errorf("%s: %d calls were handled", id, n)
			}
		}
		l.check(t)
		stop(t, nodes...)
		if err := client.Stop(t.Context()); err != nil || c.home.Len() != 0 {
			t.Errorf("%d keys are held after all have stopped, %v", c.home.Len(), err)
		}
	})
}

// Activations end when they are idle while calls keep coming: each call is handled once, by
// one activation of its key.
func TestPassivationUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		var nodes []*node
		for _, name := range []string{"a", "b"} {
			n := c.open(l, host.Options{Name: name, IdleAfter: 2 * time.Second})
			if err := n.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		seed := seed.Of(t)
		const callers, calls, keys = 8, 100, 10
		var group sync.WaitGroup
		for i := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			group.Go(func() {
				for range calls {
					time.Sleep(time.Duration(random.Int64N(int64(4 * time.Second))))
					takes := time.Duration(random.IntN(1500)) * time.Millisecond
					if _, err := nodes[i%2].add.Call(t.Context(), fmt.Sprint(random.IntN(keys)), takes); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		sum := 0
		for _, n := range l.counts {
			sum += n
		}
		if sum != callers*calls {
			t.Errorf("%d of %d calls were handled", sum, callers*calls)
		}
		if l.opened < 2*keys {
			t.Errorf("only %d activations of %d keys: nothing was passivated", l.opened, keys)
		}
		l.check(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.home.Len() != 0 {
			t.Errorf("%d keys are held, though all are idle", c.home.Len())
		}
		stop(t, nodes...)
	})
}

// A host that stops hands its activations over without losing a call.
func TestRollingRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		nodes := c.start(l, "a", "b", "c")
		client, m := c.client()
		calling, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		calls := make([]int, 10)
		for i := range calls {
			group.Go(func() {
				for calling.Err() == nil {
					if _, err := m.add.Call(t.Context(), fmt.Sprint(i), 200*time.Millisecond); err != nil {
						t.Errorf("call %d of %d: %v", calls[i], i, err)
					}
					calls[i]++
				}
			})
		}
		for i := range nodes {
			time.Sleep(5 * time.Second)
			stop(t, nodes[i])
			time.Sleep(5 * time.Second)
			nodes[i] = c.start(l, string(rune('a'+i)))[0]
		}
		time.Sleep(5 * time.Second)
		cancel()
		group.Wait()
		for i, n := range calls {
			if got := l.counts[fmt.Sprint(i)]; got != n || n < 100 {
				t.Errorf("%d: %d calls, %d were handled", i, n, got)
			}
		}
		l.check(t)
		stop(t, nodes...)
		_ = client.Stop(t.Context())
	})
}

// A location that is not true any more costs one forward at most, once.
func TestStaleLocationIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		a := c.start(l, "a")[0]
		client, m := c.client()
		call := func(id string) (sent []string) {
			t.Helper()
			c.network.Observe(func(address string, r host.Request) { sent = append(sent, fmt.Sprint(address, r.Forwards)) })
			if _, err := m.add.Call(t.Context(), id, 0); err != nil {
				t.Fatal(err)
			}
			c.network.Observe(nil)
			return sent
		}
		call("x") // at a
		b := c.start(l, "b")[0]
		time.Sleep(time.Second)
		for i := 0; ; i++ { // until one has moved
			id := fmt.Sprint(i)
			call(id)
			if h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: id}); h.Owner.Name == "b" {
				if sent := call(id); fmt.Sprint(sent) != "[b0]" {
					t.Errorf("a call to %s goes to %v", id, sent)
				}
				break
			}
		}
		// x is where it was, or has moved at its next use.
		first := call("x")
		h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: "x"})
		if want := fmt.Sprintf("[%s0]", h.Owner.Name); len(first) > 2 || fmt.Sprint(call("x")) != want {
			t.Errorf("the first call after a topology goes to %v, the next one not to %s", first, want)
		}
		l.check(t)
		stop(t, a, b)
		_ = client.Stop(t.Context())
	})
}

// Two processes that each believe that the other has a key find out that neither has.
func TestWrongLocationsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		nodes := c.start(l, "a", "b")
		client, m := c.client()
		for i, n := range nodes { // learn the topology
			if _, err := n.add.Call(t.Context(), fmt.Sprint("first ", i), 0); err != nil {
				t.Fatal(err)
			}
		}
		key := placement.Key{Kind: "counter", ID: "x"}
		for i, n := range nodes {
			other := nodes[1-i].owner(t)
			n.Learn(key, placement.Holder{Owner: other, Address: other.Name, Epoch: int64(100 + i)})
		}
		began := time.Now()
		for name, add := range map[string]*host.Method[time.Duration, int64]{"a": nodes[0].add, "b": nodes[1].add, "client": m.add} {
			if _, err := add.Call(t.Context(), "x", 0); err != nil || time.Since(began) > time.Second {
				t.Errorf("from %s: %v after %v", name, err, time.Since(began))
			}
		}
		l.check(t)
		stop(t, nodes...)
		_ = client.Stop(t.Context())
	})
}

// TestExplain asks two members and a client why a key is where it is.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		asleep := c.open(l, host.Options{Name: "z"})
		if _, err := asleep.Explain(placement.Key{Kind: "counter", ID: "id"}); !errors.Is(err, host.ErrNotStarted) {
			t.Errorf("before the start: %v", err)
		}
		nodes := c.start(l, "a", "b")
		client, m := c.client()
		time.Sleep(time.Second) // until all have the topology with both
		key := placement.Key{Kind: "counter", ID: c.ownedBy(nodes[0])}
		epoch, err := m.add.Call(t.Context(), key.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if owner := l.owners[key.ID]; owner != nodes[0].owner(t) {
			t.Errorf("the activation is owned by %v", owner)
		}
		for name, process := range map[string]interface {
			Explain(placement.Key) (placement.Explanation, error)
		}{"a": nodes[0], "b": nodes[1], "client": client} {
			e, err := process.Explain(key)
			if err != nil || e.Decision.Authority != nodes[0].owner(t) || len(e.Candidates) != 2 {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			if here := name == "a"; here != (e.Active != nil && e.Active.Epoch == epoch) {
				t.Errorf("%s: active %+v", name, e.Active)
			}
		}
		stop(t, nodes...)
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := client.Explain(key); !errors.Is(err, placement.ErrStopped) {
			t.Errorf("after the stop: %v", err)
		}
	})
}
