// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h, other Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	for i := range 500 {
		h.Add(time.Duration(i+1) * time.Microsecond)
		other.Add(time.Duration(i+501) * time.Microsecond)
	}
	h.Merge(&other)
	for q, want := range map[float64]time.Duration{0: time.Microsecond, 0.5: 501 * time.Microsecond, 0.99: 991 * time.Microsecond} {
		if got := h.Quantile(q); got > want || float64(got) < 0.97*float64(want) {
			t.Errorf("Quantile(%v) = %v, want %v or up to 3 %% less", q, got, want)
		}
	}
}

// TestBucketsAreInOrder checks that every time is in the bucket whose borders it lies between.
func TestBucketsAreInOrder(t *testing.T) {
	for _, v := range []time.Duration{0, 1, 31, 32, 63, 64, 65, 1000, time.Hour, math.MaxInt64} {
		bucket := bucketOf(uint64(v))
		if least := leastOf(bucket); v < least {
			t.Errorf("%d is in a bucket from %d on", v, least)
		}
		if next := leastOf(bucket + 1); next > 0 && v >= next { // the last bucket has no next one
			t.Errorf("%d is in a bucket that ends before %d", v, next)
		}
	}
}
