// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"runtime"
	"sync/atomic"
	"time"
	"weak"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// pressure bounds the memory of the window. Above half of the limit, commits
// move to the base before they are old: up to the oldest version that an open
// transaction may still read. At the limit commits wait for that, at most until
// the oldest reader has become too old. FoundationDB's ratekeeper delays
// transactions likewise when a storage server falls behind.
//
// Transactions do not count which versions they read, which would cost each of
// them time: a view that no transaction reads is garbage, and the collector finds it.
type pressure struct {
	head    *mvcc.Head
	journal *mvcc.Journal
	limit   int64

	relief   atomic.Bool  // commits that wait are let in once, however full it is
	delayed  atomic.Int64 // since when commits wait, in nanoseconds since began; 0: they do not
	delays   atomic.Int64 // how often they had to
	waited   atomic.Int64 // how long in all, in nanoseconds
	began    time.Time
	sentinel weak.Pointer[sentinel] // garbage since the last look
	forced   time.Time              // when a collection that was asked for was last over
	took     time.Duration          // that collection
}

// sentinel is an object whose disappearance tells that there was a collection.
// It is not so small that it shares its memory with others.
type sentinel struct{ _ [64]byte }

// forcedShare is which part of the time, at most, may be spent in collections
// that are asked for while commits wait: one in so many.
const forcedShare = 5

// high reports whether the window is larger than it should be. A nil pressure is
// never high.
func (p *pressure) high() bool { return p != nil && p.journal.Bytes() > p.limit/2 }

// full reports whether commits must wait, and keeps account of it. A nil
// pressure is never full. One goroutine at a time may call it.
func (p *pressure) full() bool {
	if p == nil {
		return false
	}
	full := p.journal.Bytes() > p.limit && !p.relief.Swap(false)
	since := p.delayed.Load()
	switch {
	case full && since == 0:
		p.delays.Add(1)
		p.delayed.Store(max(int64(time.Since(p.began)), 1))
		p.journal.WakeAbsorber()
	case !full && since != 0:
		p.waited.Add(int64(time.Since(p.began)) - since)
		p.delayed.Store(0)
	}
	return full
}

// account returns whether commits wait, how often they had to, and how long in
// all.
func (p *pressure) account() (delayed bool, delays int64, total time.Duration) {
	since := p.delayed.Load()
	total = time.Duration(p.waited.Load())
	if since != 0 {
		total += time.Since(p.began) - time.Duration(since)
	}
	return since != 0, p.delays.Load(), total
}

// WindowUse is how full the window is, and what commits wait for it.
type WindowUse struct {
	Bytes, Limit int64
	Writes       int64
	Delayed      bool          // commits wait for room, now
	Delays       int64         // how often they had to
	DelayTime    time.Duration // how long, in all
}

// WindowUse returns how full the window is.
func (a *Absorber) WindowUse() WindowUse {
	p := &a.pressure
	u := WindowUse{Bytes: p.journal.Bytes(), Limit: p.limit, Writes: p.journal.Writes()}
	u.Delayed, u.Delays, u.DelayTime = p.account()
	return u
}

// oldestReader returns the oldest version that a transaction may read, not below
// old. If commits wait, it runs the collector first, unless that ran lately.
func (p *pressure) oldestReader(old int64) int64 {
	p.head.ReleasePast()
	if p.delayed.Load() != 0 && p.sentinel.Value() != nil && time.Since(p.forced) > p.took*(forcedShare-1) {
		begin := time.Now()
		runtime.GC()
		p.forced, p.took = time.Now(), time.Since(begin)
	}
	if p.sentinel.Value() == nil {
		p.sentinel = weak.Make(new(sentinel))
	}
	return p.head.OldestRead(old)
}
