// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

// manyActive returns a coordinator with n active keys of 20 bytes, and the keys.
func manyActive(b *testing.B, n int) (*Coordinator, []placement.Key) {
	b.Helper()
	c := newMember(b)
	keys := make([]placement.Key, n)
	for i := range keys {
		keys[i] = placement.Key{Kind: "k", ID: fmt.Sprintf("account-%012d", i)}
		activate(b, c, keys[i], 1, start)
	}
	return c, keys
}

func BenchmarkResolveLocal(b *testing.B) {
	for _, n := range []int{1, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("active=%d", n), func(b *testing.B) {
			c, keys := manyActive(b, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i = (i + 7919) % n // a prime: no order that a cache guesses
				if out, err := c.Resolve(keys[i], start); err != nil || out.Resolution == nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolveRemote(b *testing.B) {
	for _, n := range []int{3, 50, 500} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			c := newMember(b)
			ok(b)(c.UpdateTopology(topology(2, append(numbered("m%03d", n-1), "a")...), start))
			key := keyOf(c, placement.Owner{Name: "m001", Incarnation: 1})
			b.ReportAllocs()
			for b.Loop() {
				if out, err := c.Resolve(key, start); err != nil || out.Resolution == nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkActivate activates and ends a key, in a home in which the claim is the activation.
func BenchmarkActivate(b *testing.B) {
	c := newMember(b)
	b.ReportAllocs()
	epoch := int64(0)
	for b.Loop() {
		epoch++
		activate(b, c, key1, epoch, start)
		end := only[Deactivate](b, c.PassivateIdle(start, 0))
		removed(b, c, only[RemoveActivation](b, ended(b, c, end, start)), nil, start)
	}
}

// BenchmarkTopologyChange puts topologies in force while 1,000,000 keys are active.
func BenchmarkTopologyChange(b *testing.B) {
	c, _ := manyActive(b, 1_000_000)
	version := int64(1)
	all := topology(2, append(numbered("m%03d", 99), "a")...)
	b.ReportAllocs()
	for b.Loop() {
		version++
		all.Version = version
		ok(b)(c.UpdateTopology(all, start))
	}
}

// BenchmarkTickMoves ticks with 1,000,000 active keys, of which each tick looks at
// some and moves some.
func BenchmarkTickMoves(b *testing.B) {
	c, _ := manyActive(b, 1_000_000)
	c.o.MovesPerTick = 10
	ok(b)(c.UpdateTopology(topology(2, append(numbered("m%03d", 99), "a")...), start))
	for b.Loop() {
		c.Tick(start)
	}
}

// BenchmarkMemory reports what 1,000,000 active keys take, with the bytes of their ids.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		before := heap()
		c := newMember(b)
		for i := range n {
			activate(b, c, placement.Key{Kind: "k", ID: fmt.Sprintf("account-%012d", i)}, 1, start)
		}
		b.ReportMetric(float64(heap()-before)/n, "bytes/key")
		runtime.KeepAlive(c)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
