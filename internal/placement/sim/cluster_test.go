// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// TestCluster runs four processes, with the members from the database and the goroutines that programs
// have, in virtual time, on an engine that fails each transaction at least once. They are killed, cut off from the
// database, suspended between the check of a fence and its commit, and restarted.
// The seed sets what is done and when; which goroutine runs first it does not.
func TestCluster(t *testing.T) {
	for _, seed := range series(t, 1, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, fault := range runCluster(t, seed, true) {
					t.Error(fault)
				}
			})
		})
	}
}

// TestClusterFails checks that TestCluster can fail: without fences a process that was
// suspended overwrites what another has written.
func TestClusterFails(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	for seed := range uint64(30) {
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = runCluster(t, seed, false) })
		if len(faults) > 0 {
			t.Logf("seed %d: %s", seed, faults[0])
			return
		}
	}
	t.Error("30 runs without fences, and nothing is noticed")
}

// The times of a run of a cluster.
const (
	chaos = 4 * time.Minute
	calm  = time.Minute // after which every process reaches every key
)

// runCluster runs a cluster and returns what is wrong.
func runCluster(t *testing.T, seed uint64, fenced bool) (violations []string) {
	engine := faults.Hostile(enginetest.InProcess(t), faults.Options{Seed: seed, Faults: 1})
	c := &cluster{t: t, db: engine, nodes: map[string]*node{}, unfenced: !fenced, random: rand.New(rand.NewPCG(seed, 0))}
	for i := range 12 {
		c.keys = append(c.keys, placement.Key{Kind: "account", ID: fmt.Sprint(i)})
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		c.nodes[name] = &node{cluster: c, name: name, gate: newGate(engine)}
		c.names = append(c.names, name)
		c.nodes[name].start()
	}
	over := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() { c.keepCalling(rand.New(rand.NewPCG(seed, uint64(i)+1)), over) })
	}
	c.trouble()
	close(over)
	callers.Wait()
	time.Sleep(calm)
	c.callAll()
	c.stopAll()
	c.check()
	return c.faults
}

// cluster is some processes on one database.
type cluster struct {
	t      *testing.T
	db     kv.Database
	names  []string
	nodes  map[string]*node
	keys   []placement.Key
	random *rand.Rand

	unfenced bool // effects are not fenced

	mu      sync.Mutex
	faults  []string
	handled int // calls with an acknowledged effect
	tried   int // effects that may have happened
	fenced  int
	joined  int
}

func (c *cluster) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (c *cluster) faultf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// trouble does things to nodes, one after the other.
func (c *cluster) trouble() {
	for end := time.Now().Add(chaos); time.Now().Before(end); {
		n := c.nodes[c.names[c.random.IntN(len(c.names))]]
		lasts := time.Duration(c.random.Int64N(int64(25 * time.Second)))
		switch c.random.IntN(4) {
		case 0: // a crash
			n.kill()
			time.Sleep(lasts / 4)
			n.start()
		case 1:
			n.gate.set(isolated)
			time.Sleep(lasts)
			n.gate.set(open)
		case 2: // SIGSTOP, as far as the database sees it
			n.gate.set(suspended)
			time.Sleep(lasts)
			n.gate.set(open)
		case 3: // a deployment
			n.stop()
			n.start()
		}
		time.Sleep(time.Duration(c.random.Int64N(int64(5 * time.Second))))
	}
}

// keepCalling calls keys from nodes. Errors are what is to be expected.
func (c *cluster) keepCalling(random *rand.Rand, over chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(random.Int64N(int64(time.Second)))):
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_ = c.call(ctx, c.nodes[c.names[random.IntN(len(c.names))]], c.keys[random.IntN(len(c.keys))])
		cancel()
	}
}

var errElsewhere = errors.New("the key is somewhere else")

// call calls a key from a node, once.
func (c *cluster) call(ctx context.Context, from *node, key placement.Key) error {
	p := from.process()
	if p == nil {
		return errElsewhere
	}
	_, err := c.deliver(ctx, p, key, placement.Holder{}, 0)
	return err
}

// deliver brings a call to where a key is, and corrects on the way back what is known of
// that, as package placement/host does. to is the holder according to the sender.
func (c *cluster) deliver(ctx context.Context, p *incarnation, key placement.Key, to placement.Holder, hops int) (placement.Holder, error) {
	r, err := p.driver.Resolve(ctx, key)
	if err != nil {
		return placement.Holder{}, fmt.Errorf("%v: %w", p.owner, err)
	}
	if r.Locality == core.Local {
		return placement.Holder{Owner: p.owner, Address: p.node.name, Epoch: r.Epoch}, p.handle(ctx, key, r.Epoch)
	}
	if to.Owner == p.owner && to.Epoch > 0 {
		p.driver.Forget(key, to)
	}
	return c.forward(ctx, p, key, placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch}, hops)
}

func (c *cluster) forward(ctx context.Context, p *incarnation, key placement.Key, assumed placement.Holder, hops int) (holder placement.Holder, err error) {
	q := c.nodes[assumed.Address].process()
	if q == nil || hops == 3 {
		err = errElsewhere
	} else {
		holder, err = c.deliver(ctx, q, key, assumed, hops+1)
	}
	switch {
	case holder == assumed:
	case holder.Epoch > 0:
		p.driver.Learn(key, holder)
	case err != nil:
		p.driver.Forget(key, assumed)
	}
	return holder, err
}

// callAll checks that each node reaches each key.
func (c *cluster) callAll() {
	for _, name := range c.names {
		for _, key := range c.keys {
			ctx, cancel := context.WithTimeout(context.Background(), calm)
			err := errElsewhere
			for err != nil && ctx.Err() == nil {
				if err = c.call(ctx, c.nodes[name], key); err != nil {
					time.Sleep(100 * time.Millisecond)
				}
			}
			cancel()
			if err != nil {
				c.faultf("%v from %s, %v after all faults: %v", key, name, calm, err)
			}
		}
	}
}

func (c *cluster) stopAll() {
	for _, name := range c.names {
		c.nodes[name].stop()
	}
}

// check checks that nothing is left, and that each acknowledged effect is there.
func (c *cluster) check() {
	members, err := membership.New(c.db, membership.Options{})
	fatal(c.t, err)
	store, err := kvstore.New(c.db, kvstore.Options{Members: members})
	fatal(c.t, err)
	sum := 0
	for _, key := range c.keys {
		row, err := store.Row(context.Background(), key)
		fatal(c.t, err)
		if !row.Free() {
			c.faultf("%v has %v under epoch %d after all have left", row.Owner, key, row.Epoch)
		}
		value, err := kv.ReadTransact(context.Background(), c.db, func(tx kv.ReadTransaction) (int64, error) { return readInt(context.Background(), tx, valueOf(key)) })
		fatal(c.t, err)
		sum += int(value)
	}
	if sum < c.handled || sum > c.tried {
		c.faultf("the values add up to %d; %d effects were acknowledged and %d were tried", sum, c.handled, c.tried)
	}
	if c.handled < 100 || c.joined < 10 {
		c.faultf("%d effects, %d incarnations: the run has met too little", c.handled, c.joined)
	}
	c.t.Logf("%d effects of %d tried, %d fenced, %d incarnations", c.handled, c.tried, c.fenced, c.joined)
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
