// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// sum is the actor of the benchmarks.
type sum struct{ n int }

func (s *sum) add(_ context.Context, n int) (int, error) { s.n += n; return s.n, nil }

// startSums starts a host and returns a method that adds.
func startSums(b testing.TB, h *host.Host, err error) *host.Method[int, int] {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	kind, err := host.Register(h, "sum", func(context.Context, *host.Activation) (*sum, error) { return new(sum), nil })
	if err != nil {
		b.Fatal(err)
	}
	add, err := host.Handle(kind, "add", (*sum).add)
	if err == nil {
		err = h.Start(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return add
}

func BenchmarkLocalCall(b *testing.B) {
	c := newCluster(nil)
	on, o, _ := c.options(host.Options{Name: "a"})
	h := host.NewOn(on, o)
	add := startSums(b, h, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := add.Call(b.Context(), "x", 1); err != nil {
			b.Fatal(err)
		}
	}
	_ = h.Stop(context.Background())
}

// A cold activation on the embedded engine, with a disk: two transactions.
func BenchmarkColdActivation(b *testing.B) {
	db, err := embedded.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	h, err := host.New(db, host.Options{Name: "a", IdleAfter: -1, Logger: slog.New(slog.DiscardHandler)})
	add := startSums(b, h, err)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		if _, err := add.Call(b.Context(), fmt.Sprint(n), 1); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	_ = h.Stop(context.Background())
}

// BenchmarkActiveMemory makes a million activations and reports what each takes: of the
// host, of the core and of its value, with an id of 7 bytes. The home is one that keeps nothing.
func BenchmarkActiveMemory(b *testing.B) {
	const keys = 1_000_000
	for range b.N {
		before := liveBytes()
		c := newCluster(nil)
		on, o, _ := c.options(host.Options{Name: "a", IdleAfter: -1})
		on.Homes = func(e driver.Executor) driver.Homes {
			return driver.Homes{Lock: noHome{}, Storage: noHome{}, Executor: e}
		}
		h := host.NewOn(on, o)
		add := startSums(b, h, nil)
		const callers = 16
		var group sync.WaitGroup
		for first := range callers {
			group.Go(func() {
				for i := first; i < keys; i += callers {
					if _, err := add.Call(b.Context(), fmt.Sprintf("%07d", i), 1); err != nil {
						b.Error(err)
					}
				}
			})
		}
		group.Wait()
		b.ReportMetric(float64(liveBytes()-before)/keys, "bytes/activation")
		runtime.KeepAlive(h)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Stop(ctx)
	}
}

func liveBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// noHome grants everything and keeps nothing, so that only the process is measured.
type noHome struct{ *memory.Home }

func (noHome) TryAcquire(_ context.Context, c core.TryAcquire) (core.Lease, error) {
	return core.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: int64(c.RequestID), Loaded: true, Kept: true}, nil
}

func (noHome) Release(context.Context, core.Lease) error { return nil }

func (noHome) Store(context.Context, core.Lease, core.ActivationEntry) error { return nil }

func (noHome) Remove(context.Context, placement.Key, placement.Owner, int64) error { return nil }
