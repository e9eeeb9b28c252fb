// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"math"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// cutJournal takes the groups that the base absorbs next out of the journal.
func (c *Committer) cutJournal(cutoff int64) (groups mvcc.JournalCut, more bool) {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	return c.window.Journal().Cut(cutoff, absorbRoundKeys)
}

// forgetAbsorbed drops from the window, within the spans, the writes up to
// version: the base has absorbed them.
func (c *Committer) forgetAbsorbed(within []mvcc.Span, version int64) {
	c.decideMu.Lock()
	c.window.Forget(within, version)
	c.stale = true
	c.releaseDecideMu()
}

// releaseDecideMu unlocks decideMu for a goroutine that changed the window or the
// vacancies outside of a batch. It refreshes the newest view before, unless a
// commit is under way: the view of that commit has the changes.
func (c *Committer) releaseDecideMu() {
	if c.stale && c.open == nil && c.diskMu.TryLock() {
		c.refreshView()
		c.diskMu.Unlock()
	}
	c.decideMu.Unlock()
	c.wakeDisk() // rule 6
}

// QueueSize returns how many requests are queued, and how large they are.
func (c *Committer) QueueSize() (requests, bytes int64) {
	c.queue.Lock()
	defer c.queue.Unlock()
	return int64(len(c.queue.requests)), c.queue.bytes
}

// FetchingBytes returns the size of the requests whose inputs are being read.
func (c *Committer) FetchingBytes() int64 { return c.fetching.Load() }

// oldestWaiting returns the lowest version that a request which waits for its
// commit has read at, and whether there is one.
func (c *Committer) oldestWaiting() (version int64, some bool) {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	c.queue.Lock()
	defer c.queue.Unlock()
	version = math.MaxInt64
	for _, requests := range [][]*request{c.taken[c.next:], c.queue.requests} {
		for _, r := range requests {
			version = min(version, r.ReadVersion)
		}
	}
	return version, version != math.MaxInt64
}
