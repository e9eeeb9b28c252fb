// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// attend takes in what reads have told, and lets the newest view know, unless it
// would have to wait for a commit: then that will do it, or the next read.
func (c *committer) attend() {
	if c.working.TryLock() {
		c.takeIn()
		c.leave()
	}
}

// takeIn takes in what reads have told.
func (c *committer) takeIn() {
	if c.base == nil {
		return
	}
	for {
		select {
		case v := <-c.reports.queue:
			c.vacate(v)
		default:
			return
		}
	}
}

// vacate adds a vacancy to those that hold now. Whatever was set since its
// version must be in the window, so that it is seen there.
func (c *committer) vacate(v vacancy) {
	if v.version < c.forgotten {
		return
	}
	var at btree.Cursor[entry]
	if at.Seek(&c.window.entries, v.keys.Begin) && at.NextLive(&c.window.entries) {
		v.keys.End = bytes.Clone(keys.Min(v.keys.End, at.Key()))
	}
	if bytes.Compare(v.keys.Begin, v.keys.End) >= 0 {
		return
	}
	c.makeRoomForVacancy()
	c.vacant.Join(v.keys)
	c.stale = true
}

// makeRoomForVacancy evicts the oldest quarter of the vacancies where there are as
// many as may be: several at once, because finding out which they are takes as
// long as looking at all.
func (c *committer) makeRoomForVacancy() {
	if c.vacant.Len() >= mostVacancies {
		c.vacant.EvictOldest(mostVacancies / 4)
	}
}

// occupy makes the vacancies true again after a resolved mutation.
func (c *committer) occupy(m *mutation.Mutation) {
	if m.Op == mutation.OpClearRange || m.Value == nil {
		return
	}
	if _, in := c.vacant.Find(m.Key, false); in {
		c.makeRoomForVacancy()
		c.vacant.RemoveKey(bytes.Clone(m.Key)) // which may be part of something large
	}
}
