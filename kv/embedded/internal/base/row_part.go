// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// row is what the base says of a key. Beside its counters it is immutable.
type row struct {
	hash  uint64
	pair  []byte        // the key, and behind it the value
	size  int32         // of the key
	has   bool          // there is a value
	reads atomic.Uint32 // since the hand has come by, but at most mostReads
	seen  atomic.Uint64 // of how many clears it is known whether they concern the row
}

// mostReads is how often the hand spares a row that is read no longer.
const mostReads = 3

func newRow(t ticket.Ticket, key, value []byte, has bool) *row {
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

// rowCost is what a row takes beside its pair, and slotCost its place.
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

// remove empties a slot, and moves the rows behind it up that could not be
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
