// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// heap is the peer: a heap of four children each, which reads fewer cache lines than one of two.
type heap []pair

func (h *heap) Push(index uint32, tick uint64) uint64 {
	*h = append(*h, pair{})
	i := len(*h) - 1
	for i > 0 && (*h)[(i-1)/4].tick > tick {
		(*h)[i] = (*h)[(i-1)/4]
		i = (i - 1) / 4
	}
	(*h)[i] = pair{index, tick}
	return tick
}

func (h *heap) Pop(to uint64) ([]Entry, uint64) {
	old := *h
	if len(old) == 0 || old[0].tick > to {
		return nil, 0
	}
	first, last := old[0], old[len(old)-1]
	*h = old[:len(old)-1]
	if len(*h) > 0 {
		h.sink(last)
	}
	h1[0].Index = first.index
	return h1[:], first.tick
}

// h1 is what a heap pops at a time.
var h1 [1]Entry

// sink puts an entry into a heap with a free root.
func (h heap) sink(p pair) {
	i := 0
	for {
		least := 4*i + 1
		if least >= len(h) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].tick < h[least].tick {
				least = c
			}
		}
		if h[least].tick >= p.tick {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = p
}

type queue interface {
	Push(index uint32, tick uint64) uint64
	Pop(to uint64) ([]Entry, uint64)
}

// BenchmarkQueue pops the entry that is due and pushes it again, among 100,000.
// The spans are those of election timeouts in ticks: 150 to 300 ms in ticks of 5 ms and of 1 ms,
// 1 to 2 s in ticks of 10 ms and of 1 ms, which takes two levels.
func BenchmarkQueue(b *testing.B) {
	for _, span := range []uint64{30, 100, 150, 1000} {
		b.Run(fmt.Sprintf("ticks=%d-%d/wheel", span, 2*span), func(b *testing.B) { rotate(b, new(Wheel), span) })
		b.Run(fmt.Sprintf("ticks=%d-%d/heap", span, 2*span), func(b *testing.B) { rotate(b, new(heap), span) })
	}
}

func rotate(b *testing.B, q queue, span uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	var spans [1 << 12]uint64
	for i := range spans {
		spans[i] = span + random.Uint64N(span)
	}
	for i := range uint32(100_000) {
		q.Push(i, spans[i%(1<<12)])
	}
	b.ReportAllocs()
	now := uint64(0)
	for i := 0; i < b.N; {
		entries, _ := q.Pop(now)
		if len(entries) == 0 {
			now++
		}
		for _, e := range entries {
			q.Push(e.Index, now+spans[i%(1<<12)])
			i++
		}
	}
}
