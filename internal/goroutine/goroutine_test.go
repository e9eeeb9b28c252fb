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
			if after := idBelow(1000); after != ids[i] || after == 0 {
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

// idBelow calls ID below that many frames of 100 bytes and more.
//
//go:noinline
func idBelow(frames int) uintptr {
	var frame [100]byte
	if frames == 0 {
		return goroutine.ID()
	}
	id := idBelow(frames - 1)
	frame[frames%100]++
	return id + uintptr(frame[0]&0)
}

func BenchmarkID(b *testing.B) {
	for b.Loop() {
		goroutine.ID()
	}
}
