// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math/bits"
	"time"
)

// A power of two has so many buckets in a histogram, so a quantile is at most 3 % too low.
const bucketBits = 5

// Histogram counts times. The zero value is empty.
type Histogram struct {
	counts [(64 - bucketBits + 1) << bucketBits]uint32
	total  int
}

// Add counts a time, of at least 0.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(uint64(d))]++
	h.total++
}

// bucketOf returns the bucket of a time: its highest bits and how far they are shifted.
func bucketOf(v uint64) int {
	shift := max(0, bits.Len64(v)-bucketBits-1)
	return shift<<bucketBits + int(v>>shift)
}

// leastOf returns the least time of a bucket.
func leastOf(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	return time.Duration(bucket-shift<<bucketBits) << shift
}

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// Quantile returns a time that the part q, from 0 to 1, of the times does not exceed; 0 if there
// are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rest := int(q * float64(h.total))
	for i, n := range h.counts {
		if rest -= int(n); n > 0 && rest < 0 {
			return leastOf(i)
		}
	}
	return 0
}
