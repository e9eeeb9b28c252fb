// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// maintainVersion writes nothing: an entry depends on the version that the record had,
// and on what else the transaction has written. The caller of Maintain and Fill knows both,
// and calls [Index.SetVersion].
func (m *maintenance) maintainVersion(context.Context, difference) error { return nil }

// SetVersion makes the transaction's commit the last change of the record with that packed
// id. number tells the records that the transaction writes apart, and orders them; a
// further change of a record in the transaction takes the number of the first and replaces
// it. was is the version that the record had before the transaction, nil for none; its
// entry is removed. deleted makes the entry a tombstone.
//
// The transaction cannot read the keys that SetVersion writes before it has committed.
func (ix *Index) SetVersion(tx kv.Transaction, id, was []byte, number uint16, deleted bool) {
	if was != nil {
		tx.Clear(ix.AppendVersionEntry(nil, was, id))
	}
	tx.Atomic(kv.SetVersionstampedValue, append(ix.Versions(), id...), incompleteValue(number))
	value := putEntry
	if deleted {
		value = deleteEntry
	}
	tx.Atomic(kv.SetVersionstampedKey, ix.incompleteEntry(id, number), value)
}
