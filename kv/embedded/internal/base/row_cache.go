// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
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

// keySpan holds the keys from begin to end; a nil end means no bound.
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
func (c *rowCache) get(key []byte) (value []byte, ok bool, t reads.Ticket) {
	if c == nil {
		return nil, false, reads.Ticket{}
	}
	hash := maphash.Bytes(c.seed, key)
	p, known := c.part(hash), c.clears.Load()
	if r := p.find(hash, key); r != nil {
		seen := r.seen.Load()
		if known.current(r, seen) {
			if seen < known.count {
				r.seen.CompareAndSwap(seen, known.count) // another reader may know of more
			}
			return r.touch(), true, reads.Ticket{}
		}
	}
	return nil, false, reads.Ticket{Valid: true, Hash: hash, Epoch: p.epoch.Load(), Seen: known.count}
}

func (c *rowCache) part(hash uint64) *rowPart { return &c.parts[hash>>c.shift] }

// add remembers what the ticket's holder has read, a value or that there is
// none, if the key was read before and that is certain not to be out of date. It
// returns a copy of the value.
func (c *rowCache) add(t reads.Ticket, key, value []byte, has bool) []byte {
	if t.Valid {
		if p := c.part(t.Hash); p.fits(len(key)+len(value)) && p.door.admits(t.Hash) {
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

// row is what the base says of a key. It is immutable except for its counters.
type row struct {
	hash  uint64
	pair  []byte        // the key, followed by the value
	size  int32         // of the key
	has   bool          // there is a value
	reads atomic.Uint32 // since the hand has come by, but at most mostReads
	seen  atomic.Uint64 // of how many clears it is known whether they concern the row
}

// mostReads is how often the hand spares a row that is read no longer.
const mostReads = 3

func newRow(t reads.Ticket, key, value []byte, has bool) *row {
	r := &row{hash: t.Hash, size: int32(len(key)), has: has}
	r.pair = slices.Grow([]byte{}, len(key)+len(value)) // all that the allocator gives
	r.pair = append(append(r.pair, key...), value...)
	r.seen.Store(t.Seen)
	return r
}

func (r *row) key() []byte { return r.pair[:r.size] }

// value returns the value, nil if there is none.
func (r *row) value() []byte {
	if !r.has {
		return nil
	}
	return r.pair[r.size:len(r.pair):len(r.pair)]
}

// touch returns the value and counts the read. It writes seldom, so that many
// readers can read a row at once.
func (r *row) touch() []byte {
	if n := r.reads.Load(); n < mostReads {
		r.reads.Store(n + 1)
	}
	return r.value()
}

// rowCost is what a row takes in addition to its pair, and slotCost its place.
const (
	rowCost  = int64(unsafe.Sizeof(row{})+15) &^ 15
	slotCost = int64(unsafe.Sizeof(atomic.Pointer[row]{}))
)

func (r *row) cost() int64 { return int64(cap(r.pair)) + rowCost }

// rowPart is a part of a cache: a hash table with linear probing, which is also
// the ring of a CLOCK. The hand goes round when room is needed, counts down the
// reads of each row that it comes by, and takes away those that have none left.
// A new row has none, so that rows which are read once make room for each other
// and not for those which are read often. Writers hold mu; readers see every
// step of theirs, and may then overlook a row that moves.
type rowPart struct {
	table  atomic.Pointer[rowTable]
	epoch  atomic.Uint64 // advances when a key is forgotten
	door   *doorkeeper
	mu     sync.Mutex
	rows   int
	bytes  int64
	limit  int64
	hand   uint64
	closed bool
	_      [64]byte // the next part is in another line of the processor's cache
}

// rowTable has a power of two of slots.
type rowTable []atomic.Pointer[row]

const leastSlots = 8

func (t rowTable) mask() uint64 { return uint64(len(t) - 1) }

func (p *rowPart) open(limit int64) {
	p.limit = limit
	p.door = newDoorkeeper(limit)
	p.bytes = p.door.size()
	p.table.Store(&rowTable{})
	p.resize(leastSlots)
}

// fits reports whether a pair of so many bytes is small enough to be worth its
// room.
func (p *rowPart) fits(size int) bool { return int64(size)+rowCost <= p.limit/4 }

// find returns the row of key, or nil.
func (p *rowPart) find(hash uint64, key []byte) *row {
	t := *p.table.Load()
	for i := hash & t.mask(); ; i = (i + 1) & t.mask() {
		r := t[i].Load()
		if r == nil || r.hash == hash && bytes.Equal(r.key(), key) {
			return r
		}
	}
}

// add puts a row in, in the place of another of the same key, unless a key was
// forgotten after the epoch.
func (p *rowPart) add(r *row, epoch uint64, known *clears) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch.Load() != epoch || p.closed {
		return
	}
	p.drop(r.hash, r.key())
	if t := *p.table.Load(); 4*(p.rows+1) > 3*len(t) {
		p.resize(2 * len(t))
	}
	p.makeRoom(r.cost(), known)
	p.table.Load().put(r)
	p.rows++
	p.bytes += r.cost()
}

// forget takes the row of a key out, and refuses those that are on their way.
func (p *rowPart) forget(hash uint64, key []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch.Add(1)
	p.drop(hash, key)
}

func (p *rowPart) size() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

func (p *rowPart) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.rows, p.bytes = true, 0, 0
	p.table.Store(&rowTable{})
	p.resize(1)
}

// makeRoom lets the hand go on until there is room for so many bytes.
func (p *rowPart) makeRoom(size int64, known *clears) {
	t := *p.table.Load()
	for ; p.rows > 0 && p.bytes+size > p.limit; p.hand++ {
		r := t[p.hand&t.mask()].Load()
		if r == nil {
			continue
		}
		if n := r.reads.Load(); n > 0 && !known.gaveUp(r.seen.Load()) {
			r.reads.Store(n - 1)
			continue
		}
		p.remove(p.hand & t.mask())
		p.hand-- // another row may have come to this place
	}
}

// drop takes the row of a key out.
func (p *rowPart) drop(hash uint64, key []byte) {
	t := *p.table.Load()
	for i := hash & t.mask(); ; i = (i + 1) & t.mask() {
		r := t[i].Load()
		if r == nil {
			return
		}
		if r.hash == hash && bytes.Equal(r.key(), key) {
			p.remove(i)
			return
		}
	}
}

// remove empties a slot, and moves up the rows after it that could not be
// found any more (Knuth, volume 3, algorithm 6.4R).
func (p *rowPart) remove(hole uint64) {
	t := *p.table.Load()
	p.rows--
	p.bytes -= t[hole].Load().cost()
	for i := (hole + 1) & t.mask(); ; i = (i + 1) & t.mask() {
		r := t[i].Load()
		if r == nil {
			break
		}
		if home := r.hash & t.mask(); (i-home)&t.mask() >= (i-hole)&t.mask() {
			t[hole].Store(r)
			hole = i
		}
	}
	t[hole].Store(nil)
}

// put puts a row, which is not there, into the first free slot.
func (t rowTable) put(r *row) {
	i := r.hash & t.mask()
	for t[i].Load() != nil {
		i = (i + 1) & t.mask()
	}
	t[i].Store(r)
}

// resize moves the rows to another table.
func (p *rowPart) resize(slots int) {
	old, t := *p.table.Load(), make(rowTable, slots)
	for i := range old {
		if r := old[i].Load(); r != nil {
			t.put(r)
		}
	}
	p.bytes += slotCost * int64(len(t)-len(old))
	p.table.Store(&t)
}

// prefetchedRows is how many rows are loaded side by side: about as many lines of
// memory as a processor waits for at a time.
const prefetchedRows = 16

// prefetch loads the rows of at most prefetchedRows keys. The result has no meaning; it
// keeps the compiler from leaving the loads out.
//
//go:noinline
func (c *rowCache) prefetch(keys [][]byte) (loaded int) {
	if c == nil {
		return 0
	}
	var rows [prefetchedRows]*row
	for i, key := range keys {
		hash := maphash.Bytes(c.seed, key)
		t := *c.part(hash).table.Load()
		rows[i] = t[hash&t.mask()].Load()
	}
	var pairs [prefetchedRows][]byte
	for i, r := range rows[:len(keys)] {
		if r != nil {
			pairs[i] = r.pair
		}
	}
	for _, pair := range pairs[:len(keys)] {
		for at := 0; at < len(pair) && at < prefetchedBytes; at += cacheLine {
			loaded += int(pair[at])
		}
	}
	return loaded
}

const (
	cacheLine       = 64
	prefetchedBytes = 256 // of a pair: the processor finds out itself about those that follow
)
