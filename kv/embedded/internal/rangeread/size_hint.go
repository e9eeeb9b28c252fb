// SPDX-License-Identifier: Apache-2.0

package rangeread

import "sync/atomic"

// SizeHint is how large the last batch was that any read of a database collected:
// the next one may be alike, and then needs memory only once. The zero value is
// ready to use. It is safe for concurrent use.
type SizeHint struct{ rows, bytes atomic.Int32 }

// Rows returns how many pairs a batch will have if it is like the last one, and
// at least 1. limit is the most that it may have.
func (h *SizeHint) Rows(limit int) int {
	rows := int(h.rows.Load())
	if limit != Unlimited {
		rows = min(rows, limit)
	}
	return max(rows, 1)
}

// rowBytes returns how many bytes a row of the last batch had.
func (h *SizeHint) rowBytes() int { return int(h.bytes.Load())/max(int(h.rows.Load()), 1) + 1 }

// update stores the size of a batch.
func (h *SizeHint) update(rows, bytes int32) {
	if rows != h.rows.Load() || bytes != h.bytes.Load() {
		h.rows.Store(rows)
		h.bytes.Store(bytes)
	}
}
