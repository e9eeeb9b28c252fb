// SPDX-License-Identifier: Apache-2.0

package lease

import "context"

// removePerCall is how many keys one transaction removes.
const removePerCall = 500

// removeKeys does one step of a removal, and reports whether it was the last one.
func (tx *serviceTx) removeKeys(ctx context.Context, incarnation string, end int64) (done bool, err error) {
	if _, err := tx.load(ctx); err != nil {
		return false, err
	}
	r := &tx.record
	if !tx.known || r.Incarnation != incarnation || r.lastEnd() > end {
		return true, nil // another server removed it, or leases from it again
	}
	if !r.Removing {
		r.Removing = true
		tx.saveRecord()
		return false, nil
	}
	pairs, err := tx.store.Scan(ctx, []byte{0}, []byte{0xff}, removePerCall)
	if err != nil {
		return false, err
	}
	for _, pair := range pairs {
		if pair.Key[0] != keyService || len(pairs) == 1 {
			tx.set(pair.Key, nil)
		}
	}
	return len(pairs) <= 1, nil
}
