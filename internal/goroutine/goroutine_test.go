// SPDX-License-Identifier: Apache-2.0

package goroutine_test

import (
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/goroutine"
)

// TestID: a goroutine keeps its number though its stack grows and moves, and goroutines that
// live at the same time have different ones.
func TestID(t *testing.T) {
	const n = 100
	var (
		ids  [n]uintptr
		all  sync.WaitGroup
		live sync.WaitGroup
	)
	live.Add(n)
	for i := range n {
		all.Go(func() {
			ids[i] = goroutine.ID()
			live.Done()
			live.Wait()
			if after := idBelow(1000, [100]byte{}); after != ids[i] || after == 0 {
				t.Errorf("a goroutine is %d, then %d", ids[i], after)
			}
		})
	}
	all.Wait()
	seen := map[uintptr]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("two goroutines are %d", id)
		}
		seen[id] = true
	}
}

// idBelow calls ID below that many frames, each with a pad of its own.
//
//go:noinline
func idBelow(frames int, pad [100]byte) uintptr {
	if frames == 0 {
		return goroutine.ID()
	}
	pad[frames%len(pad)]++
	return idBelow(frames-1, pad)
}

func BenchmarkID(b *testing.B) {
	for b.Loop() {
		goroutine.ID()
	}
}
