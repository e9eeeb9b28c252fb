// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// generators has ChaCha8 generators with seeds of the operating system, so that the next
// numbers cannot be predicted from those that were seen.
var generators = sync.Pool{New: func() any {
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed))
}}

// takeRandom appends numbers at random distances of 1 to delta. If they do not fit, it draws
// shorter distances, as long as single steps fit.
func (s *Sequence) takeRandom(ctx context.Context, dst []int64, count int, delta uint64) ([]int64, error) {
	n := len(dst)
	dst = slices.Grow(dst, count)[:n+count]
	delta = min(delta, math.MaxUint64/uint64(count)) // their sum does not overflow
	for {
		last, err := s.takeFrom(ctx, s.seg.Load(), draw(dst[n:], delta))
		if err == nil {
			accumulate(dst[n:], last, s.seg.Load().step)
			return dst, nil
		}
		full, ok := errors.AsType[*ExhaustedError](err)
		if !ok || full.Room < uint64(count) {
			return dst[:n], err
		}
		delta = full.Room / uint64(count) // less than before
	}
}

// draw fills a slice with distances and returns their sum.
func draw(distances []int64, limit uint64) (sum uint64) {
	g := generators.Get().(*rand.Rand)
	defer generators.Put(g)
	for i := range distances {
		d := 1 + g.Uint64N(limit)
		distances[i] = int64(d)
		sum += d
	}
	return sum
}

// accumulate turns distances into numbers.
func accumulate(distances []int64, last, step int64) {
	for i, d := range distances {
		last = move(last, uint64(d), step)
		distances[i] = last
	}
}
