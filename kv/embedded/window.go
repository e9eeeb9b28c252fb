// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// knowledge is what the window says about a key or a gap between keys.
type knowledge uint8

const (
	unknown knowledge = iota // nothing: ask the base
	absent                   // there is no value
	present                  // there is a value (of a key, not of a gap)
)

// entry is one key of the window and the gap behind it, up to the next entry.
type entry struct {
	value    []byte // where point is present
	version  int64  // of the last write to the key; 0 where point is unknown
	gapAt    int64  // version of the range clear that emptied the gap
	point    knowledge
	gap      knowledge // unknown or absent
	conflict bool      // the last write to the key is a write conflict range that only this entry tells of
}

// conflictAt returns the version of the write conflict range that the entry
// tells of, 0 if it does not.
func (e *entry) conflictAt() int64 {
	if e.conflict {
		return e.version
	}
	return 0
}

// rank tells the tree of the write conflict range, and whether there is a value.
func (e *entry) rank() btree.Rank { return btree.Rank{Top: e.conflictAt(), Live: e.point == present} }

// window holds the writes that the base does not have yet: FoundationDB's
// multi-version map in memory. Every commit edits it and publishes a snapshot,
// so each version is a tree of its own and no entry holds more than one value.
//
// A window without a base holds everything; its gaps are all absent.
type window struct {
	entries btree.Tree[entry]
	whole   bool     // there is no base
	journal *journal // nil if there is no base
}

func newWindow(whole bool) *window {
	w := &window{whole: whole, entries: btree.Ranked((*entry).rank)}
	first := entry{}
	if whole {
		first = entry{point: absent, gap: absent}
	}
	w.entries.Set([]byte{}, first)
	return w
}

// write sets what the window says of a key; what it says of the gap behind the
// key stays. The window keeps key and value.
func (w *window) write(key []byte, point knowledge, value []byte, version int64, conflict bool) {
	var c btree.Cursor[entry]
	found := c.Locate(&w.entries, key)
	e := c.Floor(found) // there is one: the first is at ""
	c.Put(&w.entries, key, found, entry{point: point, value: value, version: version, gap: e.gap, gapAt: e.gapAt, conflict: conflict})
}

// apply makes a resolved mutation. The window keeps its memory. conflict says
// that the resolver is to find its key here.
func (w *window) apply(m *mutation.Mutation, version int64, conflict bool) {
	if w.journal != nil {
		w.journal.add(m, version)
	}
	switch {
	case m.Op == mutation.OpClearRange:
		w.clearRange(m.Key, m.Value, version)
	case m.Value != nil:
		w.write(m.Key, present, m.Value, version, conflict)
	case w.whole:
		w.drop(m.Key)
	default:
		w.write(m.Key, absent, nil, version, conflict)
	}
}

// applyLogged makes a mutation that was read from the log.
func (w *window) applyLogged(version int64, m mutation.Mutation) { w.apply(&m, version, false) }

// drop forgets a key of a window that holds everything.
func (w *window) drop(key []byte) {
	if len(key) == 0 {
		w.entries.Set(key, entry{point: absent, gap: absent})
		return
	}
	w.entries.Remove(key)
}

// clearRange removes all keys from begin to end.
func (w *window) clearRange(begin, end []byte, version int64) {
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
	w.entries.Set(begin, entry{point: absent, version: version, gap: absent, gapAt: version})
}

// unwritten returns the entry that says of key what the gap of e, which key
// lies in, says of it.
func (w *window) unwritten(_ []byte, e *entry) entry {
	return entry{point: e.gap, version: e.gapAt, gap: e.gap, gapAt: e.gapAt}
}

// forget drops what the base has absorbed in the stretches: everything not newer
// than version.
func (w *window) forget(within []stretchOf, version int64) {
	entries := w.entries.Snapshot() // which the loop walks over while it edits
	for _, s := range within {
		w.forgetStretch(&entries, s, version)
	}
}

// forgetStretch is forget for one stretch; entries are those of the window.
func (w *window) forgetStretch(entries *btree.Tree[entry], s stretchOf, version int64) {
	before := entry{}
	var c btree.Cursor[entry]
	if c.SeekBelow(&w.entries, s.first) {
		before = *c.Value()
	}
	var drop [][]byte // a run of entries that say nothing any more
	for ok := c.Seek(entries, s.first); ok && bytes.Compare(c.Key(), s.last) <= 0; ok = c.Next() {
		e, changed := c.Value().forget(version)
		says := e.point != unknown || e.gap != before.gap || e.gapAt != before.gapAt || e.gap == absent
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

// forget returns the entry without what is not newer than version.
func (e entry) forget(version int64) (left entry, changed bool) {
	if e.point != unknown && e.version <= version {
		e.point, e.value, e.version, e.conflict, changed = unknown, nil, 0, false, true
	}
	if e.gap == absent && e.gapAt <= version {
		e.gap, e.gapAt, changed = unknown, 0, true
	}
	return e, changed
}

// dropRun removes neighbouring entries.
func (w *window) dropRun(run [][]byte) {
	switch n := len(run); n {
	case 0:
	case 1:
		w.entries.Remove(run[0])
	default:
		w.entries.RemoveRange(run[0], keys.Successor(run[n-1]))
	}
}

// preload notes the base's value of a key, nil if it has none, as older than any
// write.
func (w *window) preload(key, value []byte) {
	if value == nil {
		w.write(key, absent, nil, 0, false)
		return
	}
	w.write(key, present, value, 0, false)
}
