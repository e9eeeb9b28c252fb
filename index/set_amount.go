// SPDX-License-Identifier: Apache-2.0

package index

// Amount returns what the record adds to the sum under the n-th key of index i, which
// is of the kind [Sum].
func (s *Set) Amount(i, n int) Amount { return s.entries.amount(s.first[i] + n) }
