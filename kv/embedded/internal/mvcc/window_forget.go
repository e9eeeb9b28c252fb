// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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
