// SPDX-License-Identifier: Apache-2.0

package histogram

import (
	"math/bits"
	"sync/atomic"
)

// Counter counts values in buckets whose bounds are powers of two. It is safe
// for concurrent use.
type Counter struct {
	sum, max atomic.Int64
	buckets  [64]atomic.Int64 // i: values up to 1<<i and above the bucket before
}

// Add counts a value, which is not negative.
func (h *Counter) Add(value int64) {
	h.buckets[bits.Len64(uint64(max(value-1, 0)))].Add(1)
	h.sum.Add(value)
	for seen := h.max.Load(); value > seen && !h.max.CompareAndSwap(seen, value); seen = h.max.Load() {
	}
}

// Load returns the sum and the highest of the values, and how many each bucket has.
func (h *Counter) Load() (sum, highest int64, buckets [64]int64) {
	for i := range h.buckets {
		buckets[i] = h.buckets[i].Load()
	}
	return h.sum.Load(), h.max.Load(), buckets
}
