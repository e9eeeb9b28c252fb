// SPDX-License-Identifier: Apache-2.0

package commit

import "github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"

// What follows lets tests of the packages above look at the committer between two
// decisions, and bring about moments that are rare.

// Inspect calls look while no request is decided.
func (c *Committer) Inspect(look func(*mvcc.Window, *mvcc.Resolver)) {
	defer c.Pause()()
	look(c.window, c.resolver)
}

// Pause keeps the first stage from deciding requests, which are queued, until resume is
// called.
func (c *Committer) Pause() (resume func()) {
	c.decideMu.Lock()
	return c.decideMu.Unlock
}

// PauseDisk keeps the second stage from running until resume is called: requests are
// decided, and gather in one batch.
func (c *Committer) PauseDisk() (resume func()) {
	c.diskMu.Lock()
	return func() {
		c.diskMu.Unlock()
		c.wakeDisk() // rule 6
	}
}

// Refresh replaces the newest view by one that is cheaper to read, if no commit is
// under way.
func (c *Committer) Refresh() {
	c.decideMu.Lock()
	c.stale = true
	c.releaseDecideMu()
}
