// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// size is about how many bytes of a transaction the new form takes: keys are in the
// mutation and twice in a conflict range.
func (w *write) size() int {
	size := 3*len(w.sc.key) + len(w.sc.value)
	for i := range w.store.maintained {
		copied := w.copySize(i)
		for n := range w.sc.now.Keys(i) {
			size += 3*len(w.sc.now.Key(i, n)) + len(w.sc.id) + copied
		}
	}
	return size
}

// copySize returns how many bytes each entry of the i-th index copies of the new form.
func (w *write) copySize(i int) int {
	ix := &w.store.maintained[i]
	switch {
	case len(ix.CoverFields) > 0:
		return len(w.sc.now.Record(i, ix, index.Record{}).Value)
	case ix.Cover && len(w.sc.value) <= kv.MaxValueSize:
		return len(w.sc.value)
	}
	return 0
}

// uniqueKeys returns how many keys the new form, or the stored one, has in the i-th
// index if that is unique, else 0.
func (w *write) uniqueKeys(i int, isNew bool) int {
	switch {
	case !w.store.maintained[i].Unique:
		return 0
	case isNew:
		return w.sc.now.Keys(i)
	}
	return w.sc.before.Keys(i)
}
