// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// vacancy is what a read has found out the hard way: that there are no values
// within the keys, at its version.
//
// A key that was cleared stays in the window until the base has taken that in,
// and in the base until that cleans itself. To go past very many of them takes
// time; a queue whose consumer reads the first key and clears it would go past
// all those before, each time. So who has gone past many tells the committer,
// which keeps the ranges in which there is nothing: from then on each view has
// them, and reads leap over them. What is set in such a range is cut out of it.
// Neither conflicts nor the base nor the log know of them; they are a hint that
// is always true.
type vacancy struct {
	keys    kv.KeyRange
	version int64
}

const (
	// mostVacancies is how many ranges without values are remembered.
	mostVacancies = 1024
	// mostHeard is how many of them await the committer.
	mostHeard = 64
)

// longRun is how many keys without a value a read must go past, one by one, to
// tell of it. Tests make it shorter.
var longRun = 64

// vacancyReports are what reads have found out and the committer has not taken in.
type vacancyReports struct {
	queue  chan vacancy
	attend func() // takes them in
}

func newVacancyReports() *vacancyReports {
	return &vacancyReports{queue: make(chan vacancy, mostHeard)}
}

// add passes on what a read has found out. It does not wait: what cannot be
// taken in is found again.
func (r *vacancyReports) add(v vacancy) {
	select {
	case r.queue <- v:
	default:
	}
	if r.attend != nil {
		r.attend()
	}
}

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
