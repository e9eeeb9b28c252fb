// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// BenchmarkResolveActive resolves keys that are active here: the same key, or a thousand keys
// in turn; with and without a handler of events; by one goroutine, or by one for each CPU.
func BenchmarkResolveActive(b *testing.B) {
	handler := func(placement.Event) {}
	for _, c := range []struct {
		name   string
		keys   int
		events func(placement.Event)
	}{{"1key", 1, nil}, {"1000keys", 1000, nil}, {"1000keys/events", 1000, handler}} {
		m := alone(b, newHome(b, memory.Options{}), &executor{}, driver.Options{Events: c.events}, core.Options{})
		keys := make([]placement.Key, c.keys)
		for i := range keys {
			keys[i] = keyOf(fmt.Sprint(i))
			resolve(b, m, keys[i])
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			for i := 0; b.Loop(); i++ {
				if _, err := m.Resolve(ctx, keys[i%len(keys)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if _, err := m.Resolve(ctx, keys[i%len(keys)]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
		stop(b, m)
	}
}

func TestResolveActiveAllocatesNothing(t *testing.T) {
	m := alone(t, newHome(t, memory.Options{}), &executor{}, driver.Options{}, core.Options{})
	key := keyOf("1")
	resolve(t, m, key)
	ctx := context.Background()
	allocs := testing.AllocsPerRun(1000, func() {
		if r, err := m.Resolve(ctx, key); err != nil || r.Locality != core.Local {
			t.Errorf("got %+v and %v", r, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	stop(t, m)
}
