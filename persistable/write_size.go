// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/kv"

// size is about how many bytes of a transaction the new form takes: keys are in the
// mutation and twice in a conflict range.
func (w *write) size() int {
	size := 3*len(w.sc.key) + len(w.sc.value)
	for i := range w.store.indexes {
		ix := &w.store.indexes[i]
		for n := range w.sc.now.Keys(i) {
			size += 3*len(w.sc.now.Key(i, n)) + len(w.sc.id)
			if ix.Cover && len(w.sc.value) <= kv.MaxValueSize {
				size += len(w.sc.value)
			}
		}
	}
	return size
}

// uniqueKeys returns how many keys the new form, or the stored one, has in the i-th
// index if that is unique, else 0.
func (w *write) uniqueKeys(i int, isNew bool) int {
	switch {
	case !w.store.indexes[i].Unique:
		return 0
	case isNew:
		return w.sc.now.Keys(i)
	}
	return w.sc.before.Keys(i)
}
