// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/sample"
)

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
	var base btree.Cursor[int64]
	base.Seek(&of, begin)
	addBase := func(below []byte) {
		for ; base.Valid() && bytes.Compare(base.Key(), below) < 0; base.Next() {
			if _, k := readEntry(&v.entries, base.Key()); v.base == nil || k == Unknown {
				all = append(all, SampledKey{base.Key(), *base.Value()})
			}
		}
	}
	if v.base != nil {
		var Window btree.Cursor[entry]
		for ok := Window.Seek(&v.entries, begin); ok && bytes.Compare(Window.Key(), end) < 0; ok = Window.Next() {
			if e := Window.Value(); e.point == Present {
				if size := sample.Weight(Window.Key(), len(e.value)); size > 0 {
					addBase(Window.Key())
					all = append(all, SampledKey{Window.Key(), size})
				}
			}
		}
	}
	addBase(end)
	return all
}
