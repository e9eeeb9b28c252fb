// SPDX-License-Identifier: Apache-2.0

package index

// Total is what records add to one entry of a count or a sum.
type Total struct {
	Index  int // the number of the index
	Amount Amount
}
