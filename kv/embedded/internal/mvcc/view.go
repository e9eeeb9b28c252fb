// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// View is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type View struct {
	version int64
	entries btree.Tree[entry]
	base    *base.Base   // nil: the window holds everything
	env     *environment // by all views
	vacant  rangeset.Set // keys that have no value, whatever the window and the base hold of them

	metadata []byte // the value of kv.MetadataVersionKey, which caches read all the time

	kept *View // the view of this state in history; a reader of the view keeps it; guarded by Head.mu
}

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
func (v *View) LookUp(key []byte) (value []byte, ok bool, t ticket.Ticket, err error) {
	if v.base == nil {
		if e := v.entries.Get(key); e != nil && e.point == Present {
			value = e.value
		}
		return value, true, ticket.Ticket{}, nil
	}
	if value, k := readEntry(&v.entries, key); k != Unknown {
		return value, true, ticket.Ticket{}, nil
	}
	if value, ok, t = v.base.Lookup(key); !ok {
		return nil, false, t, nil
	}
	if err := v.checkBase(); err != nil {
		return nil, false, ticket.Ticket{}, err
	}
	return value, true, ticket.Ticket{}, nil
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
func (v *View) Fetch(t ticket.Ticket, key []byte) ([]byte, error) {
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
func (v *View) NewScan(b *rangeread.Budget) *Scan {
	return &Scan{view: v, budget: b}
}

// Collect adds the pairs of [begin, end) to g, from the end backward if reverse,
// until g is full or b is used up. It reports whether g became full.
func (v *View) Collect(begin, end []byte, reverse bool, g *rangeread.Builder, b *rangeread.Budget) (full bool, err error) {
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
func (v *View) Vacancies() rangeset.Set { return v.vacant }

// ReportVacancy reports that a read at a version found no values of keys. It does not
// wait.
func (v *View) ReportVacancy(keys kv.KeyRange, version int64) { v.env.report(vacancy{keys, version}) }
