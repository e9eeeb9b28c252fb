// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

func benchmarkTake(b *testing.B, r sequence.Request) {
	p := newPool(b, newFakeStore(), sequence.Options{})
	s := openSequence(b, p, "a", ascending)
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]int64, 0, r.Count)
		for pb.Next() {
			if _, err := s.Take(ctx, dst, r); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(p.Metrics().Waits)/float64(b.N), "waits/op")
}

// BenchmarkTake: run it with -cpu 1,2,4 together with BenchmarkMutex.
func BenchmarkTake(b *testing.B)         { benchmarkTake(b, sequence.Request{Count: 1}) }
func BenchmarkTakeThousand(b *testing.B) { benchmarkTake(b, sequence.Request{Count: 1000}) }
func BenchmarkTakeRandom(b *testing.B) {
	benchmarkTake(b, sequence.Request{Count: 1, Delta: 10, Random: true})
}

func BenchmarkTakeRandom1000(b *testing.B) {
	benchmarkTake(b, sequence.Request{Count: 1000, Delta: 10, Random: true})
}

// BenchmarkMutex measures a counter under a mutex, to compare Take with.
func BenchmarkMutex(b *testing.B) {
	var mu sync.Mutex
	n := 0
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
}
