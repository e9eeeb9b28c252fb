// SPDX-License-Identifier: Apache-2.0

// Package reads has what a transaction's reads share with the engine that serves them.
//
// A range read sets the limits of a batch ([Limits]) and the bound of its steps ([Budget]).
// The scan that serves it counts each step against the budget and gives each pair to the
// [Builder], until one of the two tells it to stop. A read of one key asks the row cache
// first, and carries a [Ticket] from there to the read of the disk. Reads that may wait for
// the disk run in a [Pool].
//
// The values of this package are for one goroutine, except [SizeHint] and [Pool].
package reads

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Ticket admits to the row cache the row that a reader reads after a miss. The zero value
// admits nothing.
type Ticket struct {
	Valid bool
	Hash  uint64 // of the key
	Epoch uint64 // of the cache's part, when the reader looked
	Seen  uint64 // how many clears of ranges the cache knew then
}

// Budget bounds the steps of a read. It ends a long read when its result is no longer
// wanted, and keeps one short that must be made at once. The zero value has no
// bound.
type Budget struct {
	Used    int          // steps so far
	Most    int          // steps after which the read fails with [ErrNotAtHand]; 0: no bound
	Abandon *atomic.Bool // set when the result is no longer wanted; nil: never
}

// StepsBetweenChecks is after how many steps a read looks at its budget.
const StepsBetweenChecks = 64

var (
	// ErrNotAtHand says that a read that was to be made at once needs the disk, or
	// many steps. A goroutine then makes the read.
	ErrNotAtHand = errors.New("embedded: the read needs the disk or many steps")

	// ErrAbandoned ends a read when the transaction has resolved its future already.
	ErrAbandoned = errors.New("embedded: the result of the read is no longer wanted")
)

// Step counts a step and returns why the read must not go on, or nil.
func (b *Budget) Step() error {
	if b.Used++; b.Used%StepsBetweenChecks != 0 {
		return nil
	}
	switch {
	case b.Abandon != nil && b.Abandon.Load():
		return ErrAbandoned
	case b.Most > 0 && b.Used >= b.Most:
		return ErrNotAtHand
	}
	return nil
}

// Unlimited is the number of rows or bytes that sets no limit.
const Unlimited = -1

// Limits are what a range read may still take, as FoundationDB's client counts
// (GetRangeLimits in FDBTypes.h).
type Limits struct {
	Rows  int
	Bytes int
	Least int // as long as so many rows are missing, bytes do not end the read
}

// What a pair counts in addition to its bytes: to the client, and to a storage server,
// which counts the pointers of its own structures.
const (
	ClientPairCost = 8
	ServerPairCost = 24
)

// ReplyBytes is how much a storage server answers at a time (REPLY_BYTE_LIMIT).
const ReplyBytes = 80_000

// Count counts a pair of so many bytes.
func (l *Limits) Count(size int) {
	l.Least = max(0, l.Least-1)
	if l.Rows != Unlimited {
		l.Rows--
	}
	if l.Bytes != Unlimited {
		l.Bytes = max(0, l.Bytes-size-ClientPairCost)
	}
}

// Reached reports whether the read may take no more pairs.
func (l *Limits) Reached() bool { return l.Rows == 0 || l.Bytes == 0 && l.Least == 0 }

// Builder collects the pairs of one batch, or of one reply of a storage server
// that is a part of it. It copies the pairs that are only lent to it, to memory
// that the pairs of a batch share.
type Builder struct {
	rows, bytes int // what the limits leave
	pairs       []kv.KeyValue
	room        []byte // what is left of the memory for copies
	spent       int    // bytes of it used, for good
	rowBytes    int    // how large a row of the batch before was
	client      Limits // of the client, if it counts the pairs too
	counts      bool   // it does
	front       int    // how many of pairs were there before
	pairCost    int    // what a pair counts in addition to its bytes
}

// The least and the most memory for copies that is asked for at a time.
const leastRoom, mostRoom = 512, 64 << 10

// Start begins a batch after the pairs of front. The builder may take over
// their memory. The limits are those of a storage server.
func (b *Builder) Start(l Limits, hint *SizeHint, front []kv.KeyValue) {
	*b = Builder{rows: l.Rows, bytes: l.Bytes, front: len(front), pairCost: ServerPairCost}
	if b.bytes != Unlimited {
		b.bytes = min(b.bytes, ReplyBytes)
	}
	b.rowBytes = int(hint.rowBytes.Load())
	if b.pairs = front; front == nil {
		b.pairs = make([]kv.KeyValue, 0, hint.Rows(l.Rows))
	} else {
		b.pairs = slices.Grow(front, hint.Rows(l.Rows))
	}
}

// CountAlso makes the builder count each pair against the limits of the client,
// too.
func (b *Builder) CountAlso(client Limits) { b.client, b.counts = client, true }

// Client returns what is left of the limits that CountAlso has set.
func (b *Builder) Client() *Limits { return &b.client }

// SetLimits replaces the limits.
func (b *Builder) SetLimits(rows, bytes int) { b.rows, b.bytes = rows, bytes }

// SetPairCost sets what a pair counts in addition to its bytes.
func (b *Builder) SetPairCost(bytes int) { b.pairCost = bytes }

// Len returns how many pairs there are, those of front included.
func (b *Builder) Len() int { return len(b.pairs) }

// LastKey returns the key of the pair that was added last. There must be one.
func (b *Builder) LastKey() []byte { return b.pairs[len(b.pairs)-1].Key }

// Add adds a pair that is never modified, and reports whether the batch is full.
func (b *Builder) Add(key, value []byte) (full bool) {
	b.pairs = append(b.pairs, kv.KeyValue{Key: slices.Clip(key), Value: slices.Clip(value)})
	return b.Count(len(key) + len(value))
}

// Count counts a pair of so many bytes without adding it, and reports whether the
// batch is full.
func (b *Builder) Count(size int) (full bool) {
	if b.counts {
		b.client.Count(size)
	}
	if b.rows != Unlimited {
		b.rows--
	}
	if b.bytes != Unlimited {
		b.bytes = max(b.bytes-size-b.pairCost, 0)
	}
	return b.rows == 0 || b.bytes == 0
}

// AddCopy adds a copy of a pair, and reports whether the batch is full.
func (b *Builder) AddCopy(key, value []byte) (full bool) {
	k, v := len(key), len(key)+len(value)
	if v >= len(b.room) { // some is left, so that an empty value is not nil
		b.grow(v + 1)
	}
	room := b.room
	b.room = room[v:]
	b.spent += v
	copy(room, key)
	copy(room[k:], value)
	return b.Add(room[:k], room[k:v])
}

// grow makes room for a pair of so many bytes, and for those that are likely to
// follow.
func (b *Builder) grow(size int) {
	likely := b.rowBytes * (cap(b.pairs) - len(b.pairs))
	if b.spent > 0 {
		likely = b.spent // so it was not like the last batch
	}
	b.room = make([]byte, max(size, min(max(likely, leastRoom), mostRoom)))
}

// Finish returns the pairs, those of front included, and stores the size of the
// batch in hint. The builder keeps none of the memory.
func (b *Builder) Finish(hint *SizeHint) []kv.KeyValue {
	hint.update(len(b.pairs)-b.front, b.spent)
	pairs := Trim(b.pairs)
	b.pairs, b.room = nil, nil
	return pairs
}

// Trim returns pairs that hold no more memory than twice what they need.
func Trim(pairs []kv.KeyValue) []kv.KeyValue {
	switch {
	case len(pairs) == 0:
		return nil
	case len(pairs) < cap(pairs)/2:
		return slices.Clone(pairs)
	}
	return pairs
}

// SizeHint is how large the last batch was that any read of a database collected:
// the next one may be alike, and then needs memory only once. The zero value is
// ready to use. It is safe for concurrent use.
type SizeHint struct{ rows, rowBytes atomic.Int32 }

// mostHintRows is how many rows a hint speaks of, at most: as many as a reply of a
// storage server has. A batch that is larger grows while it is collected, so that a
// small read that follows it does not ask for its memory.
const mostHintRows = ReplyBytes / ServerPairCost

// Rows returns how many pairs a batch will have if it is like the last one, and
// at least 1. limit is the most that it may have.
func (h *SizeHint) Rows(limit int) int {
	rows := int(h.rows.Load())
	if limit != Unlimited {
		rows = min(rows, limit)
	}
	return max(rows, 1)
}

// update stores the size of a batch.
func (h *SizeHint) update(rows, bytes int) {
	known, rowBytes := int32(min(rows, mostHintRows)), int32(bytes/max(rows, 1)+1)
	if known != h.rows.Load() || rowBytes != h.rowBytes.Load() {
		h.rows.Store(known)
		h.rowBytes.Store(rowBytes)
	}
}
