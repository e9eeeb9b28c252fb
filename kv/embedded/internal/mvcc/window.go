// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/sample"
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
	vacant    rangeset.Set
}

// NewMemoryWindow returns the empty window of a database without a base.
func NewMemoryWindow() *Window {
	w := &Window{whole: true, env: newEnvironment(Leaps{}), entries: btree.Ranked((*entry).rank)}
	w.env.sample = &sample.Sample{}
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

// write sets what the window says of a key; what it says of the gap behind the
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
	if !bytes.Equal(at, end) { // what lies behind end must stay as it is
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

// Snapshot returns the view of a version, whose changes are the last that the window
// was given, and about how many bytes the changes have taken.
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
		base: w.base, env: w.env, metadata: w.metadata,
	}
}
