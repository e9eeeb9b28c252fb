// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement"
)

// TestChaos: three members resolve the same keys while topologies change. Homes and executors
// are slow, fail before and after they take effect, panic, call runtime.Goexit, hang beyond the
// hard limit, and refuse to end idle activations. Each resolve is answered. Afterwards each key
// has at most one activation, all keys resolve again, and everything is handed back.
func TestChaos(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			seed := seed.Of(t) // the schedule of goroutines still differs between runs
			synctest.Test(t, func(t *testing.T) { newChaos(t, seed, options).run() })
		})
	}
}

type chaos struct {
	*testing.T
	inner   *memory.Home
	members []*member
	calm    atomic.Bool

	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	faults map[string]int
}

func newChaos(t *testing.T, seed uint64, options memory.Options) *chaos {
	c := &chaos{T: t, inner: newHome(t, options), random: rand.New(rand.NewPCG(seed, 0)), faults: map[string]int{}}
	for i := range 3 {
		h := &hookedHome{home: c.inner}
		h.before = func(ctx context.Context, method string, _ placement.Key) error { return c.fault(ctx, method) }
		h.after = h.before
		x := &executor{
			ensure: func(ctx context.Context, _ core.EnsureActivation) error { return c.fault(ctx, "EnsureActivation") },
			deactivate: func(ctx context.Context, d core.Deactivate) error {
				if d.Cause == placement.CauseIdle && c.drawNumber(4) == 0 {
					return &driver.BusyError{UsedAt: d.IdleSince.Add(1)}
				}
				_ = c.fault(ctx, "") // it ends nevertheless
				return nil
			},
		}
		o := driver.Options{Concurrency: 8, CommandTimeout: time.Second, IdleAfter: 3 * time.Second}
		c.members = append(c.members, newMember(t, fmt.Sprintf("m%d", i), h, x, o, core.Options{RequestTimeout: 5 * time.Second, MovesPerTick: 5}))
	}
	return c
}

func (c *chaos) drawNumber(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

func (c *chaos) noteFault(fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[fault]++
}

var errDown = errors.New("the network is down")

// fault makes a call of a method slow or fail; with "" it is only slow.
func (c *chaos) fault(ctx context.Context, method string) error {
	time.Sleep(time.Duration(c.drawNumber(20)) * time.Millisecond)
	draw := c.drawNumber(40)
	switch {
	case c.calm.Load() || method == "":
	case draw < 3:
		c.noteFault("error")
		return errDown
	case draw == 3:
		c.noteFault("panic")
		panic("chaos")
	case draw == 4:
		c.noteFault("exit")
		runtime.Goexit()
	case draw == 5:
		c.noteFault("hang")
		time.Sleep(3 * time.Second)
	case draw == 6:
		c.noteFault("slow")
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c *chaos) run() {
	start(c, 1, c.members...)
	ctx, cancel := context.WithCancel(c.Context())
	var running, resolving sync.WaitGroup
	for _, m := range c.members {
		running.Go(func() { _ = m.Run(ctx) })
		for range 4 {
			resolving.Go(func() { c.resolveMany(m) })
		}
	}
	running.Go(func() { c.changeTopologies(ctx) })
	resolving.Wait()
	c.calm.Store(true)
	cancel()
	running.Wait()
	for _, m := range c.members {
		if err := m.UpdateTopology(topology(1_000_000, c.members...)); err != nil {
			c.Error(err)
		}
	}
	time.Sleep(time.Minute)
	c.checkEnd()
}

// resolveMany resolves keys. Each resolve ends, perhaps with an error of the executor.
func (c *chaos) resolveMany(m *member) {
	for range 60 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		r, err := m.Resolve(ctx, keyOf(fmt.Sprint(c.drawNumber(12))))
		cancel()
		var failed *core.ActivationError
		if err != nil && !errors.As(err, &failed) {
			c.Errorf("a resolve ends with %v", err)
		}
		if err == nil && r.Locality == core.Local {
			m.Use(r.Decision.Key, r.Epoch)
		}
		time.Sleep(time.Duration(c.drawNumber(300)) * time.Millisecond)
	}
}

// changeTopologies drains one member after the other: none dies.
func (c *chaos) changeTopologies(ctx context.Context) {
	for version := int64(2); ctx.Err() == nil; version++ {
		next := topology(version, c.members...)
		next.Members[int(version)%len(next.Members)].Draining = true
		for _, m := range c.members {
			if err := m.UpdateTopology(next); err != nil {
				c.Error(err)
			}
		}
		time.Sleep(time.Duration(c.drawNumber(4000)) * time.Millisecond)
	}
}

// checkEnd checks that after the chaos each key has at most one activation, that all keys
// resolve, and that Stop hands everything back.
func (c *chaos) checkEnd() {
	for i := range 12 {
		for _, m := range c.members {
			resolve(c, m, keyOf(fmt.Sprint(i)))
		}
	}
	synctest.Wait()
	active := map[placement.Key]int{}
	for _, m := range c.members {
		for _, a := range m.running() {
			active[a.key]++
		}
	}
	for key, n := range active {
		if n > 1 {
			c.Errorf("%s has %d activations", key, n)
		}
	}
	stop(c, c.members...)
	if left := c.inner.Len(); left > 0 {
		c.Errorf("%d rows are left", left)
	}
	if len(c.faults) < 4 {
		c.Errorf("of five faults there were %v", c.faults)
	}
	c.Logf("faults: %v", c.faults)
}
