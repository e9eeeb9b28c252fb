// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"math/bits"
	"sync/atomic"
)

// Histogram tells how often which values occurred. Its buckets are those of a
// Prometheus histogram: each counts what is not above its bound, so the counts
// ascend, and the last bound is not below any value seen.
type Histogram[T ~int64] struct {
	Count   int64
	Sum     T
	Max     T
	Buckets []Bucket[T]
}

// Bucket counts the values up to a bound.
type Bucket[T ~int64] struct {
	UpTo  T // included
	Count int64
}

// Mean returns the average, 0 if there are no values.
func (h Histogram[T]) Mean() T {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / T(h.Count)
}

// Quantile returns a bound that a share q of the values, from 0 to 1, does not
// exceed. It is less than twice as large as the value wanted; 0 if there are none.
func (h Histogram[T]) Quantile(q float64) T {
	for _, b := range h.Buckets {
		if float64(b.Count) >= q*float64(h.Count) {
			return min(b.UpTo, h.Max)
		}
	}
	return h.Max
}

// histogram counts values in buckets whose bounds are powers of two. It is safe
// for concurrent use.
type histogram struct {
	count, sum, max atomic.Int64
	buckets         [64]atomic.Int64 // i: values up to 1<<i and above the bucket before
}

// add counts a value, which is not negative.
func (h *histogram) add(value int64) {
	h.buckets[bits.Len64(uint64(max(value-1, 0)))].Add(1)
	h.count.Add(1)
	h.sum.Add(value)
	for seen := h.max.Load(); value > seen && !h.max.CompareAndSwap(seen, value); seen = h.max.Load() {
	}
}

// read returns what h has counted, beginning with the bucket of least.
func read[T ~int64](h *histogram, least T) Histogram[T] {
	r := Histogram[T]{Sum: T(h.sum.Load()), Max: T(h.max.Load())}
	for i := range h.buckets {
		r.Count += h.buckets[i].Load()
		upTo := T(1) << min(i, 62)
		if upTo >= least && (r.Count > 0 || len(r.Buckets) > 0) {
			r.Buckets = append(r.Buckets, Bucket[T]{upTo, r.Count})
		}
		if upTo >= max(r.Max, least) {
			break
		}
	}
	return r
}
