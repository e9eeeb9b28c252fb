// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// view is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type view struct {
	version int64
	entries tree[entry]
	base    *base    // nil: the window holds everything
	vacant  rangeSet // keys that have no value, whatever the window and the base hold of them

	metadata []byte // the value of kv.MetadataVersionKey, which caches read all the time

	err  error // why the version cannot be read; nil: it can
	kept *view // what history remembers of this state: who reads it keeps it; guarded by head.mu
}

// get returns the value of key, nil if there is none.
//
// Where the entries do not know the key, its last write up to the view's version,
// if there is one, was in the base before the view was made: the window forgets
// only what the base has, and its row cache with it. The base returns its value
// at some moment since. If it had a later write by then, the horizon had been
// moved to that write or beyond, before; so the check that follows refuses the
// value, and otherwise it is the right one.
func (v *view) get(key []byte) ([]byte, error) {
	if v.base == nil {
		if e := v.entries.get(key); e != nil && e.point == present {
			return e.value, nil
		}
		return nil, nil
	}
	value, k := lookUp(&v.entries, key)
	if k != unknown {
		return value, nil
	}
	value, err := v.base.get(key)
	if err == nil {
		err = v.base.check(v.version)
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

var metadataKey = []byte(kv.MetadataVersionKey)

// lookUp returns what a window with a base says of key.
func lookUp(t *tree[entry], key []byte) ([]byte, knowledge) {
	at, e := t.floor(key)
	if !bytes.Equal(at, key) {
		return nil, e.gap
	}
	return e.value, e.point
}
