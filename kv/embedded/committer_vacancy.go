// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// tryAddVacancies adds the vacancies that reads have reported and refreshes the
// newest view. If another goroutine holds decideMu, the next batch or report adds
// them.
func (c *committer) tryAddVacancies() {
	if c.decideMu.TryLock() {
		c.addReportedVacancies()
		c.releaseDecideMu()
	}
}

// addReportedVacancies adds the vacancies that reads have reported. The caller
// holds decideMu.
func (c *committer) addReportedVacancies() {
	if c.base == nil {
		return
	}
	for {
		select {
		case v := <-c.reports.queue:
			c.addVacancy(v)
		default:
			return
		}
	}
}

// addVacancy adds the part of v that still has no values. The window must have all
// writes since v's version; if it has forgotten some, addVacancy ignores v.
func (c *committer) addVacancy(v vacancy) {
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

// makeRoomForVacancy evicts the oldest quarter of the vacancies once their number
// reaches the limit. It evicts many at once because it must look at all to find
// the oldest.
func (c *committer) makeRoomForVacancy() {
	if c.vacant.Len() >= mostVacancies {
		c.vacant.EvictOldest(mostVacancies / 4)
	}
}

// cutVacancies takes the key that a resolved mutation sets out of the vacancies.
func (c *committer) cutVacancies(m *mutation.Mutation) {
	if m.Op == mutation.OpClearRange || m.Value == nil {
		return
	}
	if _, in := c.vacant.Find(m.Key, false); in {
		c.makeRoomForVacancy()
		c.vacant.RemoveKey(bytes.Clone(m.Key)) // m.Key may be a part of a large slice
	}
}
