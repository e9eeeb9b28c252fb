// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"testing"
	"time"
)

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		_ = time.Now()
	}
}

func BenchmarkNext(b *testing.B) {
	c := Must(NewClient(Options{}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Next(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNextManaged has its first lease replaced by ones for 4096 IDs of a
// millisecond before it measures.
func BenchmarkNextManaged(b *testing.B) {
	c := managedBench(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Next(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNextManagedParallel(b *testing.B) {
	c := managedBench(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Next(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkNextNManaged reports the time per ID. It is bound by the sequence:
// 4096 IDs of a millisecond are 244 ns each, unless a client may lease more.
func BenchmarkNextNManaged(b *testing.B) {
	c := managedBench(b)
	ids := make([]ID, 64)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(ids) {
		if _, err := c.NextN(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

func managedBench(b *testing.B) *Client {
	g := newGrantor(time.Now)
	g.layout.MachineBits, g.layout.SequenceBits = 2, 20
	c := Must(NewClient(Options{Provider: g, Logger: quiet, MaxThroughput: 1 << 20}))
	b.Cleanup(func() { _ = c.Shutdown(context.Background()) })
	Must(c.Next(context.Background()))
	return c
}

func BenchmarkNextParallel(b *testing.B) {
	c := Must(NewClient(Options{}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Next(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkNextN reports the time per ID.
func BenchmarkNextN(b *testing.B) {
	c := Must(NewClient(Options{}))
	ids := make([]ID, 64)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(ids) {
		if _, err := c.NextN(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = NewID()
	}
}

func BenchmarkULID(b *testing.B) {
	var s ULIDSource
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = s.Next(context.Background())
		}
	})
}

func BenchmarkUUIDv7(b *testing.B) {
	var s UUIDSource
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = s.Next(context.Background())
		}
	})
}
