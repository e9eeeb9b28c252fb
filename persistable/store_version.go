// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"iter"
)

// Change is the last change of a record.
type Change[T, ID any] struct {
	ID      ID
	Version Version
	Deleted bool
	Record  T // the record as it is now; nil if Deleted
}

// typedChanges gives changes their types.
func typedChanges[T, ID any](all iter.Seq2[change, error]) iter.Seq2[Change[T, ID], error] {
	return func(yield func(Change[T, ID], error) bool) {
		for c, err := range all {
			if !yield(typedChange[T, ID](c), err) {
				return
			}
		}
	}
}

func typedChange[T, ID any](c change) Change[T, ID] {
	id, _ := c.id.(ID)
	record, _ := c.record.(T)
	return Change[T, ID]{ID: id, Version: c.version, Deleted: c.deleted, Record: record}
}
