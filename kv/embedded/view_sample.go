// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/sample"
)

// sampledKey is a key of a sample and the bytes that it stands for.
type sampledKey struct {
	key  []byte
	size int64
}

// sampleRange returns the sample of a view within a range, in order: what the base has
// sampled, but for keys of which the window knows better.
func (v *view) sampleRange(of btree.Tree[int64], begin, end []byte) []sampledKey {
	var all []sampledKey
	var base btree.Cursor[int64]
	base.Seek(&of, begin)
	addBase := func(below []byte) {
		for ; base.Valid() && bytes.Compare(base.Key(), below) < 0; base.Next() {
			if _, k := lookUp(&v.entries, base.Key()); v.base == nil || k == unknown {
				all = append(all, sampledKey{base.Key(), *base.Value()})
			}
		}
	}
	if v.base != nil {
		var window btree.Cursor[entry]
		for ok := window.Seek(&v.entries, begin); ok && bytes.Compare(window.Key(), end) < 0; ok = window.Next() {
			if e := window.Value(); e.point == present {
				if size := sample.Weight(window.Key(), len(e.value)); size > 0 {
					addBase(window.Key())
					all = append(all, sampledKey{window.Key(), size})
				}
			}
		}
	}
	addBase(end)
	return all
}
