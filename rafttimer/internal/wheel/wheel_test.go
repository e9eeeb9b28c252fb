// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// list is the wheel as one would write it without thinking of speed.
type list struct {
	now     uint64
	entries []pair
}

type pair struct {
	index uint32
	tick  uint64
}

// pop takes out all entries up to a tick, in the order of ticks and then of numbers.
func (l *list) pop(to uint64) (due []pair) {
	l.entries = slices.DeleteFunc(l.entries, func(p pair) bool {
		if p.tick <= to {
			due = append(due, p)
		}
		return p.tick <= to
	})
	slices.SortFunc(due, order)
	l.now = max(l.now, to)
	return due
}

func order(a, b pair) int {
	if a.tick != b.tick {
		return int(a.tick) - int(b.tick)
	}
	return int(a.index) - int(b.index)
}

// contest runs a program on wheel and list: each step moves the time by at most 2^jump, and
// pushes an entry at most 2^ahead ahead.
type contest struct {
	wheel Wheel
	list  list
	index uint32
}

func (c *contest) push(t testing.TB, tick uint64) {
	c.index++
	at := c.wheel.Push(c.index, tick)
	switch {
	case tick <= c.list.now && at != c.list.now+1:
		t.Fatalf("at %d: an entry for %d, which is over, comes at %d", c.list.now, tick, at)
	case tick > c.list.now && at > tick:
		t.Fatalf("at %d: an entry for %d comes late, at %d", c.list.now, tick, at)
	case at < tick && tick > c.list.now && at < c.list.now+Horizon-1<<(slotBits*(levels-1)):
		t.Fatalf("at %d: an entry for %d comes early, at %d", c.list.now, tick, at)
	}
	c.list.entries = append(c.list.entries, pair{c.index, at})
}

// advance moves both on, and has some entries pushed while others are popped.
func (c *contest) advance(t testing.TB, to uint64, again bool) {
	var got []pair
	for {
		entries, tick := c.wheel.Pop(to)
		if len(entries) == 0 {
			break
		}
		if len(got) > 0 && tick < got[len(got)-1].tick {
			t.Fatalf("tick %d after %d", tick, got[len(got)-1].tick)
		}
		c.list.now = tick
		for _, e := range entries {
			if got = append(got, pair{e.Index, tick}); again && e.Index%8 == 0 {
				c.push(t, tick+uint64(e.Index%1024))
			}
		}
	}
	slices.SortFunc(got, order)
	if want := c.list.pop(to); !slices.Equal(got, want) {
		t.Fatalf("up to %d: popped %v, want %v", to, got, want)
	}
	next, ok := c.wheel.Next()
	if first := slices.MinFunc(append(c.list.entries, pair{tick: 1<<63 - 1}), order); ok != (len(c.list.entries) > 0) || ok && (next > first.tick || next <= to) {
		t.Fatalf("at %d: next is %d, %v, the first entry is %v", to, next, ok, first)
	}
}

func (c *contest) step(t testing.TB, op, shift byte, n uint64) {
	n >>= shift % 64
	switch op % 4 {
	case 0:
		c.advance(t, c.list.now+n%(1<<40), op >= 128)
	case 1:
		c.push(t, c.list.now-min(c.list.now, n))
	default:
		c.push(t, c.list.now+n%(1<<60))
	}
}

func TestWheel(t *testing.T) {
	random := seed.Rand(t)
	for range 300 {
		var c contest
		least := byte(random.IntN(60)) // programs with steps of each size
		for range 300 {
			c.step(t, byte(random.Uint32()), max(least, byte(random.IntN(64))), random.Uint64())
		}
		c.advance(t, c.list.now+1<<25, false)
	}
}

// FuzzWheel runs programs of ten bytes a step: what to do, how far to shift, how much.
func FuzzWheel(f *testing.F) {
	f.Add([]byte("\x02\x30\xff\xff\xff\xff\xff\xff\xff\xff\x00\x28\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, program []byte) {
		var c contest
		for ; len(program) >= 10; program = program[10:] {
			var n uint64
			for _, b := range program[2:10] {
				n = n<<8 | uint64(b)
			}
			c.step(t, program[0], program[1], n)
		}
	})
}

// TestWheelKeepsTicksOfLongRuns starts the time where the ticks that entries have run over.
func TestWheelKeepsTicksOfLongRuns(t *testing.T) {
	for _, start := range []uint64{1<<32 - 300, 1<<33 - 70_000, 1<<32 - Horizon} {
		var c contest
		c.advance(t, start, false)
		for n := uint64(1); n < Horizon; n = n*3/2 + 1 {
			c.push(t, start+n)
		}
		for n := uint64(1); n < 2*Horizon; n += n/2 + 1 {
			c.advance(t, start+n, true)
		}
	}
}

// TestWheelGivesBlocksBack checks that blocks of a burst are not kept for ever.
func TestWheelGivesBlocksBack(t *testing.T) {
	var w Wheel
	for i := range uint32(100_000) {
		w.Push(i, uint64(i%1000))
	}
	for i := uint64(0); i < 1000; i++ {
		for entries, _ := w.Pop(i); len(entries) > 0; entries, _ = w.Pop(i) {
		}
	}
	if w.blocks.used != 0 || w.blocks.kept > spare {
		t.Errorf("%d blocks in use and %d kept, by an empty wheel", w.blocks.used, w.blocks.kept)
	}
}
