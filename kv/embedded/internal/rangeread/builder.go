// SPDX-License-Identifier: Apache-2.0

package rangeread

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

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
	pairCost    int    // what a pair counts beside its bytes
}

// The least and the most memory for copies that is asked for at a time.
const leastRoom, mostRoom = 512, 64 << 10

// Start begins a batch behind the pairs of front, whose memory the builder may
// take over. The limits are those of a storage server.
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

// SetPairCost sets what a pair counts beside its bytes.
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
