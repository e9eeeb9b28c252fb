// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync/atomic"
	"testing"
)

// BenchmarkSegment compares IDs from memory with additions to an atomic integer.
func BenchmarkSegment(b *testing.B) {
	var n atomic.Int64
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			n.Add(1)
		}
	})
	b.Run("next", func(b *testing.B) {
		h, ctx := filled(b), context.Background()
		for b.Loop() {
			if _, err := h.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add/parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				n.Add(1)
			}
		})
	})
	b.Run("next/parallel", func(b *testing.B) {
		h, ctx := filled(b), context.Background()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := h.Next(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// filled returns a handle with large segments, which needs no request: the benchmark
// measures the cost of an ID from a segment.
func filled(b *testing.B) *Sequence[int64] {
	c, err := New(Options{URLs: []string{"http://localhost"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	h, ids := c.Increment("k"), make([]int64, 1<<16)
	h.fetch = func(context.Context, int) ([]int64, error) { return ids, nil }
	return h
}
