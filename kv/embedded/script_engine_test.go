// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// This file is all of the scripts' code that looks into the committer, the window and
// the absorber.

// windowEntry is an entry of the window.
type windowEntry struct {
	mvcc.EntryInfo
	viewed bool // the newest view has it
}

// windowEntries returns what the window holds, with commits that are not on the disk
// yet.
func (db *Database) windowEntries() (entries []windowEntry) {
	db.committer.Inspect(func(w *mvcc.Window, _ *mvcc.Resolver) {
		for e := range w.Entries() {
			entries = append(entries, windowEntry{EntryInfo: e})
		}
	})
	viewed := map[string]mvcc.EntryInfo{}
	for e := range db.head.Published().Entries() {
		viewed[string(e.Key)] = e
	}
	for i := range entries {
		e := &entries[i]
		v, ok := viewed[string(e.Key)]
		e.viewed = ok && v.Version == e.Version && v.GapVersion == e.GapVersion
	}
	return entries
}

// newestVacancies returns the vacancies of the newest view.
func (db *Database) newestVacancies() (all []kv.KeyRange) {
	vacant := db.head.Published().Vacancies()
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
	s := db.head.Newest().NewScan(nil)
	s.SetBounds(begin, end)
	for key, value, ok := s.Seek(begin); ok && bytes.Compare(key, end) < 0; key, value, ok = s.Next() {
		pairs = append(pairs, kv.KeyValue{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	}
	passed, steps = s.Passed()
	return pairs, passed, steps, s.Close()
}

// reportVacancy tells the committer that a read at a version found no values.
func (db *Database) reportVacancy(r kv.KeyRange, version int64) {
	db.head.Published().ReportVacancy(r, version)
}

// absorb does what the absorber does from time to time.
func (db *Database) absorb() error { return db.disk.absorber.Pass() }

// absorbUpTo moves what was committed up to a version to the base.
func (db *Database) absorbUpTo(version int64) error { return db.disk.absorber.AbsorbTo(version) }

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
	db.committer.Inspect(func(_ *mvcc.Window, r *mvcc.Resolver) {
		for keys, version := range r.Steps() {
			if keys.End == nil {
				keys.End = []byte{0xff, 0xff}
			}
			if version > 0 {
				all = append(all, conflictStep{keys, version})
			}
		}
	})
	return all
}
