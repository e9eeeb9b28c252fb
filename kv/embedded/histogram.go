// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/kazahana-db/kazahana/kv/embedded/internal/histogram"

// Histogram tells how often which values occurred. Its buckets are those of a
// Prometheus histogram: each counts what is not above its bound, so the counts
// ascend, and the last bound is not below any value seen.
type Histogram[T ~int64] struct {
	Count   int64
	Sum     T
	Max     T
	Buckets []Bucket[T] // not nil, so that it is [] in JSON if there are no values
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

// readHistogram returns what h has counted, beginning with the bucket of least.
func readHistogram[T ~int64](h *histogram.Counter, least T) Histogram[T] {
	sum, highest, buckets := h.Load()
	r := Histogram[T]{Sum: T(sum), Max: T(highest), Buckets: []Bucket[T]{}}
	for i, n := range buckets {
		r.Count += n
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
