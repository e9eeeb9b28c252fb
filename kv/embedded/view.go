// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
)

// view is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type view struct {
	version int64
	entries btree.Tree[entry]
	base    *base.Base      // nil: the window holds everything
	reports *vacancyReports // takes what reads find out; nil where base is
	vacant  rangeset.Set    // keys that have no value, whatever the window and the base hold of them

	metadata []byte // the value of kv.MetadataVersionKey, which caches read all the time

	kept *view // the view of this state in history; a reader of the view keeps it; guarded by head.mu
}

// get returns the value of key, nil if there is none.
//
// Where the entries do not know the key, its last write up to the view's version,
// if there is one, was in the base before the view was made: the window forgets
// only what the base has, and its row cache with it. The base returns its value
// at some moment since. If it had a later write by then, the absorber had raised
// the base's oldestReader to that write or beyond before. So checkBase refuses a
// value that is too new, and otherwise it is the right one.
func (v *view) get(key []byte) ([]byte, error) {
	value, ok, t, err := v.atHand(key)
	if ok || err != nil {
		return value, err
	}
	return v.fetch(t, key)
}

// atHand is get without the disk. If memory does not have the value, ok is false
// and fetch reads it.
func (v *view) atHand(key []byte) (value []byte, ok bool, t base.Ticket, err error) {
	if v.base == nil {
		if e := v.entries.Get(key); e != nil && e.point == present {
			value = e.value
		}
		return value, true, base.Ticket{}, nil
	}
	if value, k := lookUp(&v.entries, key); k != unknown {
		return value, true, base.Ticket{}, nil
	}
	if value, ok, t = v.base.Lookup(key); !ok {
		return nil, false, t, nil
	}
	if err := v.checkBase(); err != nil {
		return nil, false, base.Ticket{}, err
	}
	return value, true, base.Ticket{}, nil
}

// fetch is the rest of get, for a key that is not at hand. It may wait for the
// disk.
func (v *view) fetch(t base.Ticket, key []byte) ([]byte, error) {
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
func (v *view) checkBase() error {
	if v.base.IsTooOld(v.version) {
		return tooOld(v.version)
	}
	return nil
}

var metadataKey = []byte(kv.MetadataVersionKey)

// lookUp returns what a window with a base says of key.
func lookUp(t *btree.Tree[entry], key []byte) ([]byte, knowledge) {
	at, e := t.Floor(key)
	if !bytes.Equal(at, key) {
		return nil, e.gap
	}
	return e.value, e.point
}

// newScan returns a scan that is at no key yet.
func (v *view) newScan() scan { return scan{view: v} }
