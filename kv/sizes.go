// SPDX-License-Identifier: Apache-2.0

package kv

import "bytes"

// CheckSizeRange checks the range of [ReadTransaction.GetEstimatedRangeSizeBytes]
// for engines.
func CheckSizeRange(r KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return NewError(CodeInvertedRange, "from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
	}
	return nil
}

// CheckSplit checks the arguments of [ReadTransaction.GetRangeSplitPoints] for
// engines, but for keys that may not be read.
func CheckSplit(r KeyRange, chunkSize int64) error {
	if chunkSize < 1 {
		return NewError(CodeClientInvalidOperation, "the size of a part is %d bytes; it must be positive", chunkSize)
	}
	return CheckSizeRange(r)
}
