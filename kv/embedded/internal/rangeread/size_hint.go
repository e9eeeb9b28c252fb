// SPDX-License-Identifier: Apache-2.0

package rangeread

import "sync/atomic"

// SizeHint is how large the last batch was that any read of a database collected:
// the next one may be alike, and then needs memory only once. The zero value is
// ready to use. It is safe for concurrent use.
type SizeHint struct{ rows, rowBytes atomic.Int32 }

// mostHintRows is how many rows a hint speaks of, at most: as many as a reply of a
// storage server has. A batch that is larger grows while it is collected, so that a
// small read that follows it does not ask for its memory.
const mostHintRows = ReplyBytes / ServerPairCost

// Rows returns how many pairs a batch will have if it is like the last one, and
// at least 1. limit is the most that it may have.
func (h *SizeHint) Rows(limit int) int {
	rows := int(h.rows.Load())
	if limit != Unlimited {
		rows = min(rows, limit)
	}
	return max(rows, 1)
}

// update stores the size of a batch.
func (h *SizeHint) update(rows, bytes int) {
	known, rowBytes := int32(min(rows, mostHintRows)), int32(bytes/max(rows, 1)+1)
	if known != h.rows.Load() || rowBytes != h.rowBytes.Load() {
		h.rows.Store(known)
		h.rowBytes.Store(rowBytes)
	}
}
