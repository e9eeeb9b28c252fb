// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// vacancy is a range of keys in which a read found no values at its version.
//
// A cleared key stays in the window until the base has absorbed the clear, and in
// the base until a compaction. A read takes long to pass very many of them: a
// queue's consumer, which reads the first key and clears it, would pass all
// cleared ones each time. So a read that has passed many reports the range to the
// committer. Each later view has the range, and reads leap over it. The committer
// cuts a key that is set out of its range. Conflicts, base and log do not depend
// on vacancies.
type vacancy struct {
	keys    kv.KeyRange
	version int64
}

const (
	// MostVacancies is how many ranges without values are remembered.
	MostVacancies = 1024
	// mostHeard is how many reported ones may await the committer.
	mostHeard = 64
)

// Window holds the writes that the base does not have yet: FoundationDB's
// multi-version map in memory. Every commit edits it and publishes a snapshot,
// so each version is a tree of its own and no entry holds more than one value.
//
// A window without a base holds everything; its gaps are all absent.
//
// It has no lock: one goroutine at a time uses it, [Head.Refresh] and its [Resolver].
type Window struct {
	entries   btree.Tree[entry]
	base      *base.Base   // nil: the window holds everything, or is being replayed
	env       *environment // with the views
	whole     bool         // there is no base
	journal   *Journal     // nil if there is no base
	metadata  []byte       // the value of kv.MetadataVersionKey in the last view
	forgotten int64        // the version up to which entries have been forgotten
	dropped   int64        // bytes of entries that were forgotten since takeCost was called
	vacant    keys.Set
}

// NewMemoryWindow returns the empty window of a database without a base.
func NewMemoryWindow() *Window {
	w := &Window{whole: true, env: newEnvironment(Leaps{}), entries: btree.Ranked((*entry).rank)}
	w.env.sample = &base.Sample{}
	w.entries.Set([]byte{}, entry{point: Absent, gap: Absent})
	return w
}

// NewDurableWindow returns the empty window of a database with a base.
func NewDurableWindow(j *Journal, l Leaps) *Window {
	w := &Window{journal: j, env: newEnvironment(l), entries: btree.Ranked((*entry).rank)}
	w.entries.Set([]byte{}, entry{})
	return w
}

// InMemory reports whether there is no base.
func (w *Window) InMemory() bool { return w.whole }

// Journal returns the journal of what is to move to the base; nil if there is no
// base.
func (w *Window) Journal() *Journal { return w.journal }

// Entries yields the entries as they are now, in order.
func (w *Window) Entries() iter.Seq[EntryInfo] { return entryInfos(w.entries.Snapshot()) }

// write sets what the window says of a key; what it says of the gap after the
// key stays. The window keeps key and value.
func (w *Window) write(key []byte, point Knowledge, value []byte, version int64, conflict bool) {
	var c btree.Cursor[entry]
	found := c.Locate(&w.entries, key)
	e := c.Floor(found) // there is one: the first is at ""
	c.Put(&w.entries, key, found, entry{point: point, value: value, version: version, gap: e.gap, gapAt: e.gapAt, conflict: conflict})
}

// Apply makes a resolved mutation. The window keeps its memory. conflict says
// that the resolver is to find its key here.
func (w *Window) Apply(m *mutation.Mutation, version int64, conflict bool) {
	w.edit(m, version, conflict)
	if w.whole {
		w.env.sample.Apply(m)
	}
	w.cutVacancies(m)
}

// edit makes a resolved mutation in the entries and notes it in the journal.
func (w *Window) edit(m *mutation.Mutation, version int64, conflict bool) {
	if w.journal != nil {
		w.journal.add(m, version)
	}
	switch {
	case m.Op == mutation.OpClearRange:
		w.clearRange(m.Key, m.Value, version)
	case m.Value != nil:
		w.write(m.Key, Present, m.Value, version, conflict)
	case w.whole:
		w.drop(m.Key)
	default:
		w.write(m.Key, Absent, nil, version, conflict)
	}
}

// Replay makes a mutation that was read from the log.
func (w *Window) Replay(version int64, m mutation.Mutation) { w.edit(&m, version, false) }

// drop forgets a key of a window that holds everything.
func (w *Window) drop(key []byte) {
	if len(key) == 0 {
		w.entries.Set(key, entry{point: Absent, gap: Absent})
		return
	}
	w.entries.Remove(key)
}

// clearRange removes all keys from begin to end.
func (w *Window) clearRange(begin, end []byte, version int64) {
	if bytes.Compare(begin, end) >= 0 {
		return
	}
	if w.whole {
		w.entries.RemoveRange(begin, end)
		if len(begin) == 0 {
			w.drop(begin)
		}
		return
	}
	at, last := w.entries.Floor(end)
	if !bytes.Equal(at, end) { // what lies after end must stay as it is
		w.entries.Set(end, w.unwritten(end, last))
	}
	w.entries.RemoveRange(begin, end)
	w.entries.Set(begin, entry{point: Absent, version: version, gap: Absent, gapAt: version})
}

// unwritten returns the entry that says of key what the gap of e, which key
// lies in, says of it.
func (w *Window) unwritten(_ []byte, e *entry) entry {
	return entry{point: e.gap, version: e.gapAt, gap: e.gap, gapAt: e.gapAt}
}

// Preload tells the window the value that the base had of a key at a version, nil
// for none, as older than any write. The value must have been current then. If the
// window knows the key, it keeps what it knows: that is newer. If it has forgotten
// something later than the version, the value may be too old, and Preload returns
// CodeTransactionTooOld.
func (w *Window) Preload(key, value []byte, version int64) error {
	if _, k := readEntry(&w.entries, key); k != Unknown {
		return nil
	}
	if version < w.forgotten {
		return TooOld(version)
	}
	point := Present
	if value == nil {
		point = Absent
	}
	w.write(key, point, value, 0, false)
	return nil
}

// CurrentValue returns the value of key, nil for none. The window must know the key.
func (w *Window) CurrentValue(key []byte) []byte {
	value, _ := readEntry(&w.entries, key)
	return value
}

// OldestReader returns the lowest read version with which a transaction may commit at
// a version.
func (w *Window) OldestReader(version int64) int64 {
	return max(version-WindowVersions, w.forgotten)
}

// Snapshot returns the view of a version. Its changes are the last that the window
// was given. It also returns about how many bytes the changes have taken.
func (w *Window) Snapshot(version int64, changes []mutation.Mutation) (v *View, cost int64) {
	if slices.ContainsFunc(changes, func(m mutation.Mutation) bool { return m.Covers(metadataKey) }) {
		w.metadata = w.CurrentValue(metadataKey)
	}
	cost = w.takeCost()
	for i := range changes {
		cost += int64(len(changes[i].Key)+len(changes[i].Value)) + itemCost
	}
	return w.view(version), cost
}

// takeCost returns about how many bytes the views before the window's present state
// have that it does not share with them, of what was changed since the last call.
func (w *Window) takeCost() int64 {
	dropped := w.dropped
	w.dropped = 0
	return w.entries.TakeCopied() + dropped
}

// view returns the view of the window as it is.
func (w *Window) view(version int64) *View {
	return &View{
		version: version, entries: w.entries.Snapshot(), vacant: w.vacant.Snapshot(),
		base: w.base, env: w.env, metadata: w.metadata, readers: new(atomic.Int64),
	}
}

// Forget drops what the base has absorbed within the spans: everything not newer
// than version.
func (w *Window) Forget(within []Span, version int64) {
	w.forgotten = version
	entries := w.entries.Snapshot() // which the loop walks over while it edits
	for _, s := range within {
		w.forgetSpan(&entries, s, version)
	}
}

// forgetSpan is Forget for one span; entries are those of the window.
func (w *Window) forgetSpan(entries *btree.Tree[entry], s Span, version int64) {
	before := entry{}
	var c btree.Cursor[entry]
	if c.SeekBelow(&w.entries, s.First) {
		before = *c.Value()
	}
	var drop [][]byte // a run of entries that say nothing any more
	for ok := c.Seek(entries, s.First); ok && bytes.Compare(c.Key(), s.Last) <= 0; ok = c.Next() {
		e, changed := c.Value().forget(version)
		if changed {
			w.dropped += int64(len(c.Key())+len(c.Value().value)) + itemCost
		}
		says := e.point != Unknown || e.gap != before.gap || e.gapAt != before.gapAt || e.gap == Absent
		before = e
		if !says && len(c.Key()) > 0 {
			drop = append(drop, c.Key())
			continue
		}
		w.dropRun(drop)
		drop = drop[:0]
		if changed {
			w.entries.Set(c.Key(), e)
		}
	}
	w.dropRun(drop)
}

// dropRun removes neighbouring entries.
func (w *Window) dropRun(run [][]byte) {
	switch n := len(run); n {
	case 0:
	case 1:
		w.entries.Remove(run[0])
	default:
		w.entries.RemoveRange(run[0], keys.Successor(run[n-1]))
	}
}

// OnReport sets what is called, by the goroutine that reads, after a read has
// reported a vacancy.
func (w *Window) OnReport(notify func()) { w.env.notify = notify }

// AddReportedVacancies adds the vacancies that reads have reported, and reports whether the
// window has other vacancies now.
func (w *Window) AddReportedVacancies() (changed bool) {
	for {
		select {
		case v := <-w.env.reports:
			changed = w.addVacancy(v) || changed
		default:
			return changed
		}
	}
}

// addVacancy adds the part of v that still has no values, and reports whether there
// is one. The window must have all writes since v's version; if it has forgotten
// some, addVacancy ignores v.
func (w *Window) addVacancy(v vacancy) bool {
	if v.version < w.forgotten {
		return false
	}
	var at btree.Cursor[entry]
	if at.Seek(&w.entries, v.keys.Begin) && at.NextLive(&w.entries) {
		v.keys.End = bytes.Clone(keys.Min(v.keys.End, at.Key()))
	}
	if bytes.Compare(v.keys.Begin, v.keys.End) >= 0 {
		return false
	}
	w.makeRoomForVacancy()
	w.vacant.Join(v.keys)
	return true
}

// makeRoomForVacancy evicts the oldest quarter of the vacancies once their number
// reaches the limit. It evicts many at once because it must look at all to find
// the oldest.
func (w *Window) makeRoomForVacancy() {
	if w.vacant.Len() >= MostVacancies {
		w.vacant.EvictOldest(MostVacancies / 4)
	}
}

// cutVacancies takes the key that a resolved mutation sets out of the vacancies.
func (w *Window) cutVacancies(m *mutation.Mutation) {
	if m.Op == mutation.OpClearRange || m.Value == nil {
		return
	}
	if _, in := w.vacant.Find(m.Key, false); in {
		w.makeRoomForVacancy()
		w.vacant.RemoveKey(bytes.Clone(m.Key)) // m.Key may be a part of a large slice
	}
}
