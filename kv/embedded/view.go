// SPDX-License-Identifier: Apache-2.0

package embedded

import "bytes"

// view is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type view struct {
	version int64
	entries tree[entry]
	base    *base // nil: the window holds everything
	err     error // why the version cannot be read; nil: it can
}

// get returns the value of key, nil if there is none.
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

// lookUp returns what a window with a base says of key.
func lookUp(t *tree[entry], key []byte) ([]byte, knowledge) {
	at, e := floorEntry(t, key)
	if !bytes.Equal(at, key) {
		return nil, e.gap
	}
	return e.value, e.point
}
