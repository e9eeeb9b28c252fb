// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// totalFault is an entry of a count or a sum that is wrong, missing, left over or damaged.
type totalFault struct {
	index        int
	key          []byte
	stored, want index.Amount
}

// newTotalFault compares a stored entry, which may be nil, with what it should be, at one
// version. An entry of 0 is left over.
func newTotalFault(i int, ix *index.Index, key, value []byte, want index.Amount) (f totalFault, found bool) {
	stored, err := ix.ReadTotal(value)
	if err == nil && stored == want && (value == nil || !stored.IsZero()) {
		return f, false
	}
	return totalFault{i, key, ix.PadTotal(value), want}, true
}

func (f totalFault) fault(ix *index.Index) Fault {
	return Fault{Index: ix.KeyName(), Key: f.key, Reason: fmt.Sprintf("it says %v, the records make %v", f.stored, f.want)}
}

// mend adds the difference: writes that commit between the version of the comparison and
// this transaction add theirs, so in the end the entry is what it should be.
func (f totalFault) mend(tx kv.Transaction, ix *index.Index) {
	ix.AddTotal(tx, f.key, f.want.Add(f.stored.Negate()))
}
