// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// This file is all of the scripts' code that looks into the committer, the window and
// the absorber.

// windowEntry is an entry of the window, with its key.
type windowEntry struct {
	key []byte
	entry
	viewed bool // the newest view has it
}

// windowEntries returns what the window holds, with commits that are not on the disk
// yet.
func (db *Database) windowEntries() (entries []windowEntry) {
	c := &db.committer
	c.decideMu.Lock()
	snapshot := c.window.entries.Snapshot()
	c.decideMu.Unlock()
	newest := db.head.now.Load().entries
	var at btree.Cursor[entry]
	for ok := at.Seek(&snapshot, nil); ok; ok = at.Next() {
		e := *at.Value()
		v := newest.Get(at.Key())
		entries = append(entries, windowEntry{at.Key(), e, v != nil && v.version == e.version && v.gapAt == e.gapAt})
	}
	return entries
}

// newestVacancies returns the vacancies of the newest view.
func (db *Database) newestVacancies() (all []kv.KeyRange) {
	vacant := db.head.now.Load().vacant
	for key := []byte{}; key != nil; {
		r, in := vacant.Around(key, false)
		if in {
			all = append(all, r)
		}
		if key = r.End; bytes.Equal(key, []byte{0xff, 0xff}) {
			return all
		}
	}
	return all
}

// scanNewest reads a range of the newest view as range reads do. It returns how many
// entries of the window without a value it passed one by one, and how many steps it made
// in the base.
func (db *Database) scanNewest(begin, end []byte) (pairs []kv.KeyValue, passed, steps int, err error) {
	s := db.head.newest().newScan()
	s.begin, s.end = begin, end
	for ok := s.seek(begin); ok && bytes.Compare(s.key, end) < 0; ok = s.next() {
		pairs = append(pairs, kv.KeyValue{Key: bytes.Clone(s.key), Value: bytes.Clone(s.value)})
	}
	if s.base.iter.IsOpen() {
		steps = s.base.iter.Steps()
	}
	return pairs, s.passed, steps, s.close()
}

// reportVacancy tells the committer that a read at a version found no values.
func (db *Database) reportVacancy(r kv.KeyRange, version int64) {
	db.committer.reports.add(vacancy{r, version})
}

// holdDisk keeps the second stage from running: commits are decided, and gather in
// one batch.
func (db *Database) holdDisk() { db.committer.diskMu.Lock() }

// releaseDisk ends holdDisk.
func (db *Database) releaseDisk() {
	db.committer.diskMu.Unlock()
	db.committer.wakeDisk()
}

// absorb does what the absorber does from time to time.
func (db *Database) absorb() error { return db.disk.absorber.pass() }

// absorbUpTo moves what was committed up to a version to the base.
func (db *Database) absorbUpTo(version int64) error { return db.disk.absorber.absorbTo(version) }

// flushBase brings the base to the disk.
func (db *Database) flushBase() error { return db.disk.base.Store().Flush() }

// conflictStep is a range with the version of the last write conflict range over it.
type conflictStep struct {
	kv.KeyRange
	version int64
}

// conflictSteps returns the write conflict ranges that the resolver knows, beside the
// keys that the window tells it of.
func (db *Database) conflictSteps() (all []conflictStep) {
	c := &db.committer
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	add := func(begin, end []byte, version int64) {
		if version > 0 {
			all = append(all, conflictStep{kv.KeyRange{Begin: begin, End: end}, version})
		}
	}
	var at btree.Cursor[step]
	for ok := at.Seek(&c.resolver.steps, nil); ok; {
		key, s, end := at.Key(), *at.Value(), []byte{0xff, 0xff}
		if ok = at.Next(); ok {
			end = at.Key()
		}
		if s.at == s.gap {
			add(key, end, s.at)
			continue
		}
		add(key, kv.Successor(key), s.at)
		add(kv.Successor(key), end, s.gap)
	}
	return all
}
