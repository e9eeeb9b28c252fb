// SPDX-License-Identifier: Apache-2.0

package btree

// Rank is what nodes know of the entries below them.
type Rank struct {
	Top  int64 // the highest
	Live bool  // of any
}

// with returns the rank of what has r and of what has o.
func (r Rank) with(o Rank) Rank { return Rank{max(r.Top, o.Top), r.Live || o.Live} }

// exceeds reports whether r is more than o in anything.
func (r Rank) exceeds(o Rank) bool { return r.Top > o.Top || r.Live && !o.Live }
