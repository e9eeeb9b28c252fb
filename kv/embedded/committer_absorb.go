// SPDX-License-Identifier: Apache-2.0

package embedded

import "math"

// cut takes what is to be absorbed next out of the window's journal.
func (c *committer) cut(horizon int64) (groups []journalGroup, more bool) {
	c.working.Lock()
	defer c.working.Unlock()
	return c.window.journal.cut(horizon, absorbRoundKeys)
}

// forget drops from the window, in the stretches, what the base has absorbed up
// to version.
func (c *committer) forget(within []stretchOf, version int64) {
	c.working.Lock()
	c.window.forget(within, version)
	c.forgotten, c.stale = version, true
	c.leave()
}

// leave lets the newest view know of what was done outside of a batch, by who
// holds working, which it releases. If a commit is under way, that will.
func (c *committer) leave() {
	if c.stale && c.open == nil && c.finishing.TryLock() {
		c.refresh()
		c.finishing.Unlock()
	}
	c.working.Unlock()
	c.call() // whoever has found a lock held has left it at that
}

// waiting returns how many requests are queued, and how large they are.
func (c *committer) waiting() (requests, bytes int64) {
	c.queue.Lock()
	defer c.queue.Unlock()
	return int64(len(c.queue.requests)), c.queue.bytes
}

// oldestWaiting returns the lowest version that a request which waits for its
// commit has read at, and whether there is one.
func (c *committer) oldestWaiting() (version int64, some bool) {
	c.working.Lock()
	defer c.working.Unlock()
	c.queue.Lock()
	defer c.queue.Unlock()
	version = math.MaxInt64
	for _, requests := range [][]*commitRequest{c.taken[c.next:], c.queue.requests} {
		for _, r := range requests {
			version = min(version, r.ReadVersion)
		}
	}
	return version, version != math.MaxInt64
}
