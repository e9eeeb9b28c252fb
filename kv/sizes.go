// SPDX-License-Identifier: Apache-2.0

package kv

import "bytes"

// CheckSizeRange checks the range of [ReadTransaction.GetEstimatedRangeSizeBytes].
// Engines call it.
func CheckSizeRange(r KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return NewError(CodeInvertedRange, "from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
	}
	return nil
}

// CheckSplitPoints checks the arguments of [ReadTransaction.GetRangeSplitPoints].
// Engines call it, and check themselves whether the keys may be read.
func CheckSplitPoints(r KeyRange, chunkSize int64) error {
	if chunkSize < 1 {
		return NewError(CodeClientInvalidOperation, "chunkSize is %d bytes; it must be positive", chunkSize)
	}
	return CheckSizeRange(r)
}
