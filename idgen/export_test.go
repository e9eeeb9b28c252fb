// SPDX-License-Identifier: Apache-2.0

package idgen

import "time"

// What the tests of package idgen_test need: the simulator uses the real server
// of package lease, which imports this package.

// WithMonotonic returns options with a clock that has a monotonic part of its own.
func (o Options) WithMonotonic(mono func() time.Duration) Options {
	o.mono = mono
	return o
}

// Undisturbed reports whether the client's lock is free, so that a clock may
// keep its reader waiting.
func (c *Client) Undisturbed() bool {
	if !c.mu.TryLock() {
		return false
	}
	c.mu.Unlock()
	return true
}

// Snapshot returns what a copy of the client's process would begin with: its
// leases, its cursor, its request under way. The copy runs, with options of its
// own for the world around it, once thaw is called.
func (c *Client) Snapshot(opts Options) (thaw func() *Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opts = opts.withDefaults()
	n := &Client{opts: opts, random: c.random, layout: c.layout, pinned: c.pinned, logged: c.logged}
	n.clock.init(opts)
	n.clock.base = c.clock.base
	n.clock.anchor.Store(c.clock.anchor.Load())
	n.clock.jumped.Store(c.clock.jumped.Load())
	n.clock.jumpTo = c.clock.jumpTo
	n.keeper.init(opts)
	n.keeper.want, n.keeper.failures, n.keeper.retryAt = c.keeper.want, c.keeper.failures, c.keeper.retryAt
	n.keeper.request, n.keeper.anew = c.keeper.request, c.keeper.anew
	if c.keeper.isSettled {
		n.keeper.markSettled()
	}
	copies := map[*heldLease]*heldLease{}
	copied := func(from []*heldLease) (to []*heldLease) {
		for _, l := range from {
			if copies[l] == nil {
				copies[l] = new(*l)
			}
			to = append(to, copies[l])
		}
		return to
	}
	n.leases.leases, n.keeper.spare = copied(c.leases.leases), copied(c.keeper.spare)
	old := c.era.Load()
	e := &era{epoch: old.epoch, lowBits: old.lowBits, base: old.base, blocks: old.blocks, mode: old.mode, layout: old.layout, from: old.from, until: old.until}
	e.leases, e.span, e.start = copied(old.leases), old.span, old.start
	word := old.word.Load()
	n.beginEra(e, word>>old.shift) // it has not made the IDs of this millisecond, so it does not count them
	e.word.Store(word)
	started := c.keeper.started
	return func() *Client {
		n.keeper.started = started
		if started {
			go n.runKeeper()
		}
		return n
	}
}
