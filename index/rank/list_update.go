// SPDX-License-Identifier: Apache-2.0

package rank

import "github.com/kazahana-db/kazahana/kv"

// Start starts the reads of an update. An element must not be both erased and
// inserted, or twice in one list. The update keeps the slices. Nothing else may write to the list
// in this transaction until Write.
func (l *List) Start(tx kv.Transaction, erase, insert [][]byte) *Update {
	u := &Update{list: l, tx: tx, counts: counts{}}
	view := tx.Snapshot()
	for _, element := range erase {
		u.changes = append(u.changes, &change{element: element, height: Height(element), erase: true})
	}
	for _, element := range insert {
		u.changes = append(u.changes, &change{element: element, height: Height(element)})
	}
	for _, c := range u.changes {
		u.startReads(view, c)
	}
	return u
}
