// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// ledger is what the actors of a test share: what they have done, by id.
type ledger struct {
	mu     sync.Mutex
	counts map[string]int
	active map[string]int // activations at once
	owners map[string]placement.Owner
	opened int
	faults []error
}

func newLedger() *ledger {
	return &ledger{counts: make(map[string]int), active: make(map[string]int), owners: make(map[string]placement.Owner)}
}

func (l *ledger) do(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.do(func() {
		for _, err := range l.faults {
			t.Error(err)
		}
	})
}

// counter is the actor of the tests.
type counter struct {
	ledger *ledger
	a      *host.Activation
}

func (l *ledger) open(_ context.Context, a *host.Activation) (*counter, error) {
	l.do(func() {
		id := a.Key().ID
		l.opened++
		l.owners[id] = a.Owner()
		if l.active[id]++; l.active[id] > 1 {
			l.faults = append(l.faults, fmt.Errorf("%s has %d activations", id, l.active[id]))
		}
	})
	return &counter{l, a}, nil
}

func (c *counter) Deactivate(context.Context) error {
	c.ledger.do(func() { c.ledger.active[c.a.Key().ID]-- })
	return nil
}

// add counts a call, which takes a while, and returns the epoch.
func (c *counter) add(ctx context.Context, takes time.Duration) (int64, error) {
	time.Sleep(takes)
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	return c.a.Epoch(), nil
}

// hang waits for the end of its context, and longer if asked to.
func (c *counter) hang(ctx context.Context, longer time.Duration) (string, error) {
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	<-ctx.Done()
	time.Sleep(longer)
	return "", context.Cause(ctx)
}

// node is a host of a test with its handles.
type node struct {
	*host.Host
	peer *hosttest.Peer
	methods
}

type methods struct {
	add, retried *host.Method[time.Duration, int64]
	hang         *host.Method[time.Duration, string]
}

// open returns a host of the name, which has not been started.
func (c *cluster) open(l *ledger, o host.Options) *node {
	c.t.Helper()
	on, o, peer := c.options(o)
	o.Logger = slog.New(slog.DiscardHandler)
	n := &node{Host: host.NewOn(on, o), peer: peer}
	var errs [4]error
	var kind *host.Kind[*counter]
	kind, errs[0] = host.Register(n.Host, "counter", l.open)
	n.add, errs[1] = host.Handle(kind, "add", (*counter).add)
	n.retried, errs[2] = host.Handle(kind, "retried", (*counter).add, host.Idempotent)
	n.hang, errs[3] = host.Handle(kind, "hang", (*counter).hang)
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// start starts hosts of the names.
func (c *cluster) start(l *ledger, names ...string) (nodes []*node) {
	c.t.Helper()
	for _, name := range names {
		n := c.open(l, host.Options{Name: name})
		if err := n.Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func stop(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
}

// client returns a client that has been started, and its handles.
func (c *cluster) client() (*host.Client, methods) {
	c.t.Helper()
	on, o, _ := c.options(host.Options{Name: "client"})
	client := host.NewClientOn(on, o)
	var m methods
	var errs [4]error
	m.add, errs[0] = host.MethodOf[time.Duration, int64](client, "counter", "add")
	m.retried, errs[1] = host.MethodOf[time.Duration, int64](client, "counter", "retried", host.Idempotent)
	m.hang, errs[2] = host.MethodOf[time.Duration, string](client, "counter", "hang")
	errs[3] = client.Start(c.t.Context())
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return client, m
}

func (n *node) owner(t *testing.T) placement.Owner {
	t.Helper()
	owner, ok := n.Member()
	if !ok {
		t.Fatal("it is no member")
	}
	return owner
}

// ownedBy returns an id whose activation is at the node after a call.
func (c *cluster) ownedBy(n *node) string {
	c.t.Helper()
	for i := range 1000 {
		id := fmt.Sprint("id ", i)
		if _, err := n.add.Call(c.t.Context(), id, 0); err != nil {
			c.t.Fatal(err)
		}
		if h, ok := c.home.Holder(placement.Key{Kind: "counter", ID: id}); ok && h.Owner == n.owner(c.t) {
			return id
		}
	}
	c.t.Fatal("the member has none of 1000 keys")
	return ""
}

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
		seed := uint64(time.Now().UnixNano())
		const callers, calls, keys = 8, 100, 10
		var group sync.WaitGroup
		for i := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			group.Go(func() {
				for range calls {
					time.Sleep(rand.N(4 * time.Second))
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
		var none *placement.NoMemberError
		began := time.Now()
		if err := n.Call(t.Context(), placement.Key{Kind: "other", ID: "x"}, "m", 1, nil); !errors.As(err, &none) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		var bad *placement.KeyError
		if err := n.Call(t.Context(), placement.Key{Kind: "counter"}, "add", 1, nil); !errors.As(err, &bad) {
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
