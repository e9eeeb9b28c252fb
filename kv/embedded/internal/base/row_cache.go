// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// rowCache remembers what the base says of single keys, absent ones included.
// Readers take no lock, and share the values.
//
// A read that begins after a change of the base was made finds the change, with
// the cache as without it, because a change counts as made only once the cache
// has been told. What is in the cache already is then taken out, or known to be
// out of date. What a reader is about to put in may be older too: it has missed,
// taken a ticket, read the base before the change, and been slow. So add looks
// at the ticket: for single keys, whether anything has been forgotten since in
// that part of the cache; for ranges, the row keeps the number of clears that
// were known when its ticket was taken, and get compares it with the later ones.
//
// A nil cache remembers nothing.
type rowCache struct {
	seed   maphash.Seed
	parts  []rowPart // a power of two
	shift  int       // of a hash, to the number of its part
	clears atomic.Pointer[clears]
	mu     sync.Mutex // held while clears changes
}

// clears are the latest ranges of many keys that were cleared in the base. To
// look for all rows in a range would take as long as the cache is large, so each
// row is compared with the ranges when it is read next.
type clears struct {
	count  uint64 // of all clears there ever were
	latest []keySpan
}

// keySpan holds the keys from begin to end; a nil end is no bound.
type keySpan struct{ begin, end []byte }

func (s keySpan) holds(key []byte) bool {
	return bytes.Compare(s.begin, key) <= 0 && (s.end == nil || bytes.Compare(key, s.end) < 0)
}

// mostClears is how many clears are remembered. A row that was not read while
// so many came is given up.
const mostClears = 256

// current reports whether r, which knows of the first seen clears, has been
// outdated by none of the others.
func (c *clears) current(r *row, seen uint64) bool {
	if seen >= c.count {
		return true
	}
	if c.gaveUp(seen) {
		return false
	}
	missed := int(c.count - seen)
	for _, s := range c.latest[len(c.latest)-missed:] {
		if s.holds(r.key()) {
			return false
		}
	}
	return true
}

// gaveUp reports whether clears are remembered no longer of which a row that
// knows of the first seen ones does not know.
func (c *clears) gaveUp(seen uint64) bool { return seen+uint64(len(c.latest)) < c.count }

// Parts are for writers to be at work side by side; a small cache is not worth
// dividing.
const (
	mostParts     = 64
	leastPartSize = 256 << 10
)

// newRowCache returns a cache of at most limit bytes.
func newRowCache(limit int64) *rowCache {
	parts := min(mostParts, max(1, limit/leastPartSize))
	log := bits.Len64(uint64(parts)) - 1
	c := &rowCache{seed: maphash.MakeSeed(), parts: make([]rowPart, 1<<log), shift: 64 - log}
	c.clears.Store(&clears{})
	for i := range c.parts {
		c.parts[i].open(limit >> log)
	}
	return c
}

// get returns what the base says of key, nil if there is no value. If that is
// not remembered, the caller may read the base now, not earlier, and add it.
func (c *rowCache) get(key []byte) (value []byte, ok bool, t ticket.Ticket) {
	if c == nil {
		return nil, false, ticket.Ticket{}
	}
	hash := maphash.Bytes(c.seed, key)
	p, known := c.part(hash), c.clears.Load()
	if r := p.find(hash, key); r != nil {
		seen := r.seen.Load()
		if known.current(r, seen) {
			if seen < known.count {
				r.seen.CompareAndSwap(seen, known.count) // another reader may know of more
			}
			return r.touch(), true, ticket.Ticket{}
		}
	}
	return nil, false, ticket.Ticket{Valid: true, Hash: hash, Epoch: p.epoch.Load(), Seen: known.count}
}

func (c *rowCache) part(hash uint64) *rowPart { return &c.parts[hash>>c.shift] }

// add remembers what the ticket's holder has read, a value or that there is
// none, if that is certain not to be out of date. It returns a copy of the value.
func (c *rowCache) add(t ticket.Ticket, key, value []byte, has bool) []byte {
	if t.Valid {
		if p := c.part(t.Hash); p.fits(len(key) + len(value)) {
			r := newRow(t, key, value, has)
			p.add(r, t.Epoch, c.clears.Load())
			return r.value()
		}
	}
	if has {
		return keys.Own(value)
	}
	return nil
}

// forget is to be called after the base has changed what it says of key.
func (c *rowCache) forget(key []byte) {
	if c == nil {
		return
	}
	hash := maphash.Bytes(c.seed, key)
	c.part(hash).forget(hash, key)
}

// forgetSpans is to be called after the base has dropped the keys of spans,
// which the cache keeps.
func (c *rowCache) forgetSpans(spans []keySpan) {
	if c == nil || len(spans) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.clears.Load()
	latest := append(append([]keySpan{}, old.latest...), spans...)
	latest = latest[max(0, len(latest)-mostClears):]
	c.clears.Store(&clears{count: old.count + uint64(len(spans)), latest: latest})
}

// size returns how many bytes the cache takes.
func (c *rowCache) size() (n int64) {
	for i := range c.parts {
		n += c.parts[i].size()
	}
	return n
}

// close forgets everything for good.
func (c *rowCache) close() {
	if c == nil {
		return
	}
	for i := range c.parts {
		c.parts[i].close()
	}
}
