// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"iter"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// Knowledge is what the window says about a key or a gap between keys.
type Knowledge uint8

const (
	Unknown Knowledge = iota // nothing: ask the base
	Absent                   // there is no value
	Present                  // there is a value (of a key, not of a gap)
)

// String returns the name of what is known.
func (k Knowledge) String() string { return [...]string{"unknown", "absent", "present"}[k] }

// entry is one key of the window and the gap after it, up to the next entry.
type entry struct {
	value    []byte // where point is present
	version  int64  // of the last write to the key; 0 where point is unknown
	gapAt    int64  // version of the range clear that emptied the gap
	point    Knowledge
	gap      Knowledge // unknown or absent
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
func (e *entry) rank() btree.Rank { return btree.Rank{Top: e.conflictAt(), Live: e.point == Present} }

// forget returns the entry without what is not newer than version.
func (e entry) forget(version int64) (left entry, changed bool) {
	if e.point != Unknown && e.version <= version {
		e.point, e.value, e.version, e.conflict, changed = Unknown, nil, 0, false, true
	}
	if e.gap == Absent && e.gapAt <= version {
		e.gap, e.gapAt, changed = Unknown, 0, true
	}
	return e, changed
}

// copyToBase writes to b what the entry says of its key, and of the gap after it,
// which ends at next, up to version cutoff.
func (e *entry) copyToBase(b *base.Batch, key, next []byte, cutoff int64) error {
	point := e.point != Unknown && e.version <= cutoff
	gap := e.gap == Absent && e.gapAt <= cutoff
	if point && gap && e.point == Absent {
		return b.RemoveRange(key, next)
	}
	if point && e.point == Present {
		if err := b.Set(key, e.value); err != nil {
			return err
		}
	} else if point {
		if err := b.Remove(key); err != nil {
			return err
		}
	}
	if gap {
		return b.RemoveRange(keys.Successor(key), next)
	}
	return nil
}

// EntryInfo is what a window says of a key, and of the gap after it up to the next
// entry.
type EntryInfo struct {
	Key        []byte
	Point      Knowledge
	Value      []byte // where Point is Present
	Version    int64  // of the last write to the key; 0 where the window has none
	Gap        Knowledge
	GapVersion int64 // of the range clear that emptied the gap
}

func entryInfos(t btree.Tree[entry]) iter.Seq[EntryInfo] {
	return func(yield func(EntryInfo) bool) {
		var c btree.Cursor[entry]
		for ok := c.Seek(&t, nil); ok; ok = c.Next() {
			e := c.Value()
			if !yield(EntryInfo{c.Key(), e.point, e.value, e.version, e.gap, e.gapAt}) {
				return
			}
		}
	}
}

// View is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type View struct {
	version int64
	entries btree.Tree[entry]
	base    *base.Base   // nil: the window holds everything
	env     *environment // by all views
	vacant  keys.Set     // keys that have no value, whatever the window and the base hold of them

	metadata []byte // the value of kv.MetadataVersionKey, which caches read all the time

	kept    *View         // the view of this state in history; a reader of the view keeps it; guarded by Head.mu
	readers *atomic.Int64 // how many read at this version: see [Head.Acquire]
}

// Release ends what [Head.Acquire] and [Head.At] begin.
func (v *View) Release() { v.readers.Add(-1) }

// Get returns the value of key, nil if there is none.
//
// Where the entries do not know the key, its last write up to the view's version,
// if there is one, was in the base before the view was made: the window forgets
// only what the base has, and its row cache with it. The base returns its value
// at some moment since. If it had a later write by then, the absorber had called
// [base.Base.RefuseReadersBelow] with that write's version or a later one before. So checkBase refuses a
// value that is too new, and otherwise it is the right one.
func (v *View) Get(key []byte) ([]byte, error) {
	value, ok, t, err := v.LookUp(key)
	if ok || err != nil {
		return value, err
	}
	return v.Fetch(t, key)
}

// LookUp is Get without the disk. If memory does not have the value, ok is false, and
// [View.Fetch] reads it with the ticket.
func (v *View) LookUp(key []byte) (value []byte, ok bool, t reads.Ticket, err error) {
	if v.base == nil {
		if e := v.entries.Get(key); e != nil && e.point == Present {
			value = e.value
		}
		return value, true, reads.Ticket{}, nil
	}
	if value, k := readEntry(&v.entries, key); k != Unknown {
		return value, true, reads.Ticket{}, nil
	}
	if value, ok, t = v.base.Lookup(key); !ok {
		return nil, false, t, nil
	}
	if err := v.checkBase(); err != nil {
		return nil, false, reads.Ticket{}, err
	}
	return value, true, reads.Ticket{}, nil
}

// Prefetch lets the processor load what the row cache has of some keys: the lines of
// memory arrive side by side, and not one after the other as those calls of LookUp
// need them that follow.
func (v *View) Prefetch(keys [][]byte) {
	if v.base != nil {
		v.base.Prefetch(keys)
	}
}

// Fetch is the rest of Get, for a key that LookUp does not find. It may wait for the
// disk.
func (v *View) Fetch(t reads.Ticket, key []byte) ([]byte, error) {
	value, err := v.base.Read(t, key)
	if err == nil {
		err = v.checkBase()
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// checkBase returns CodeTransactionTooOld if what was read of the base may be newer
// than the view. It is called after the reading.
func (v *View) checkBase() error {
	if v.base.IsTooOld(v.version) {
		return TooOld(v.version)
	}
	return nil
}

var metadataKey = []byte(kv.MetadataVersionKey)

// readEntry returns what a window with a base says of key.
func readEntry(t *btree.Tree[entry], key []byte) ([]byte, Knowledge) {
	at, e := t.Floor(key)
	if !bytes.Equal(at, key) {
		return nil, e.gap
	}
	return e.value, e.point
}

// Version returns the view's version.
func (v *View) Version() int64 { return v.version }

// Metadata returns the value of kv.MetadataVersionKey. It does not wait.
func (v *View) Metadata() []byte { return v.metadata }

// InMemory reports whether no read of the view ever waits for the disk.
func (v *View) InMemory() bool { return v.base == nil }

// NewScan returns a scan that is at no pair yet. b bounds its steps; nil: no bound.
func (v *View) NewScan(b *reads.Budget) *Scan {
	return &Scan{view: v, budget: b}
}

// Collect adds the pairs of [begin, end) to g, from the end backward if reverse,
// until g is full or b is used up. It reports whether g became full.
func (v *View) Collect(begin, end []byte, reverse bool, g *reads.Builder, b *reads.Budget) (full bool, err error) {
	s := Scan{view: v, budget: b}
	if reverse {
		full = s.gatherBelow(begin, end, g)
	} else {
		full = s.gather(begin, end, g)
	}
	return full, s.Close()
}

// Entries yields the view's entries of the window, in order.
func (v *View) Entries() iter.Seq[EntryInfo] { return entryInfos(v.entries) }

// Vacancies returns the keys of which the view knows that they have no value.
func (v *View) Vacancies() keys.Set { return v.vacant }

// ReportVacancy reports that a read at a version found no values of keys. It does not
// wait.
func (v *View) ReportVacancy(keys kv.KeyRange, version int64) { v.env.report(vacancy{keys, version}) }

// CopyToBase writes to b what the window says of a span up to version cutoff: at
// most budget entries, and until b has limit bytes. It returns how many entries that
// were and, if more are left, the key of the last.
func (v *View) CopyToBase(b *base.Batch, s Span, cutoff int64, budget, limit int) (seen int, last []byte, err error) {
	var c btree.Cursor[entry]
	ok := c.Seek(&v.entries, s.First)
	for ok && bytes.Compare(c.Key(), s.Last) <= 0 {
		if seen == budget || b.Size() >= limit {
			return seen, last, nil
		}
		key, e := c.Key(), *c.Value()
		var next []byte
		if ok = c.Next(); ok {
			next = c.Key()
		}
		if err := e.copyToBase(b, key, next, cutoff); err != nil {
			return seen, nil, err
		}
		last = key
		seen++
	}
	return seen, nil, nil
}

// SampledKey is a key of the byte sample and the bytes that it stands for.
type SampledKey struct {
	Key  []byte
	Size int64
}

// SampleRange returns the byte sample of a range, in order: what the base has
// sampled, but for keys of which the window knows better.
func (v *View) SampleRange(begin, end []byte) []SampledKey {
	var all []SampledKey
	of := v.env.sample.Snapshot()
	var sampled btree.Cursor[int64]
	sampled.Seek(&of, begin)
	addBase := func(below []byte) {
		for ; sampled.Valid() && bytes.Compare(sampled.Key(), below) < 0; sampled.Next() {
			if _, k := readEntry(&v.entries, sampled.Key()); v.base == nil || k == Unknown {
				all = append(all, SampledKey{sampled.Key(), *sampled.Value()})
			}
		}
	}
	if v.base != nil {
		var window btree.Cursor[entry]
		for ok := window.Seek(&v.entries, begin); ok && bytes.Compare(window.Key(), end) < 0; ok = window.Next() {
			if e := window.Value(); e.point == Present {
				if size := base.Weight(window.Key(), len(e.value)); size > 0 {
					addBase(window.Key())
					all = append(all, SampledKey{window.Key(), size})
				}
			}
		}
	}
	addBase(end)
	return all
}

// environment is what all views of a database have in common apart from the base.
type environment struct {
	leaps   Leaps
	reports chan vacancy // that the window has not added yet
	notify  func()       // makes the committer add them; nil: the next commit does
	sample  *base.Sample
}

// Leaps say when a scan leaps over keys without a value. The zero value stands for
// the defaults, which are measured.
type Leaps struct {
	Every   int // after so many entries without a value a scan looks whether it can leap over those that follow
	LongRun int // a read that has passed so many reports them as vacant
}

// The defaults of Leaps.
const (
	LeapEvery = 8
	LongRun   = 64
)

func newEnvironment(l Leaps) *environment {
	if l.Every == 0 {
		l.Every = LeapEvery
	}
	if l.LongRun == 0 {
		l.LongRun = LongRun
	}
	return &environment{leaps: l, reports: make(chan vacancy, mostHeard)}
}

// report reports a vacancy. It does not wait: if the queue is full it drops v, and a
// later read finds it again.
func (s *environment) report(v vacancy) {
	select {
	case s.reports <- v:
	default:
	}
	if s.notify != nil {
		s.notify()
	}
}
