// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxSpaceBits bounds the bits below the fallback bit: 64, less a reserve of at
// least 1, a timestamp of at least 32, and the fallback bit.
const maxSpaceBits = 30

// block is an aligned run of 2^SequenceBits positions that is leased as one. The
// blocks of a service tile the positions below its frontier.
type block struct {
	base         uint64
	SequenceBits int `json:"bitSeq"`
	bounds
	Holder *holder `json:"holder,omitempty"` // of the last lease; nil if there was none since the block has this size
	Steps  []step  `json:"steps,omitempty"`  // earlier bounds, the latest at the end
}

// step is a move of the bounds: what they were before. These bounds still decide
// about the time until At.
type step struct {
	At int64 `json:"at"`
	bounds
}

// A step is wide if it skips more than a day. Such a one may have been made by a
// clock that was ahead, and is kept while others follow, up to maxSteps.
const (
	wideStep = 24 * 60 * 60 * 1000
	maxSteps = 4
)

// holder is the last lease of a block.
type holder struct {
	Created  int64             `json:"created"`
	Expired  int64             `json:"expired"`
	Secret   string            `json:"secret"`
	Request  string            `json:"request,omitempty"` // hash of the request key, hexadecimal
	Meta     map[string]string `json:"meta,omitempty"`
	Released *int64            `json:"released,omitempty"` // the last millisecond used, if it was released
	Before   *releasedLease    `json:"before,omitempty"`   // the lease before this one, if it was released
	Charge   *charge           `json:"charge,omitempty"`   // where it counts; nil if it was granted without a budget
	Renewed  bool              `json:"renewed,omitempty"`  // Expired is not the end that it was granted with
}

func (b *block) validate() error {
	if err := b.bounds.validate(); err != nil {
		return err
	}
	for _, s := range b.Steps {
		if err := s.bounds.validate(); err != nil {
			return err
		}
	}
	h := b.Holder
	switch {
	case b.SequenceBits < 0 || b.SequenceBits >= maxSpaceBits:
		return fmt.Errorf("it has 2^%d positions", b.SequenceBits)
	case h != nil && (h.Created >= h.Expired || h.Secret == ""):
		return errors.New("its lease ends before it begins, or has no secret")
	case h != nil && h.Released == nil && len(b.Steps) == 0:
		return errors.New("it does not tell what was before its lease")
	}
	return nil
}

func (b *block) size() uint64 { return 1 << b.SequenceBits }

// pushStep keeps the bounds before they move at a time. The step before is dropped
// unless it is wide.
func (b *block) pushStep(at int64) {
	if n := len(b.Steps); n > 0 && b.Steps[n-1].At-b.Steps[n-1].NotBefore <= wideStep {
		b.Steps = b.Steps[:n-1]
	}
	b.Steps = append(b.Steps[max(0, len(b.Steps)+1-maxSteps):len(b.Steps):len(b.Steps)], step{At: at, bounds: b.bounds})
}

// grantTo gives the block to h. The times of h, and passed, come from nextLease.
func (b *block) grantTo(h holder, passed bool) {
	if last := b.Holder; last != nil && last.Released != nil {
		h.Before = &releasedLease{Created: last.Created, LastTs: *last.Released, Secret: last.Secret}
	}
	b.pushStep(h.Created)
	if passed {
		b.Future = nil
	}
	b.Holder = &h
	b.NotBefore = h.Expired
	b.EndNotBefore = h.Expired + (h.Expired - h.Created)
}

// delayUntil moves the earliest start of the next lease, and so the block's place
// in the queue, to a time before which nothing can be granted.
func (b *block) delayUntil(start int64) { b.NotBefore = max(b.NotBefore, start) }

// skipFuture moves the bounds past the future: nothing can be granted before.
func (b *block) skipFuture() {
	b.pushStep(b.Future.From)
	b.Holder, b.bounds = nil, b.afterFuture()
}

// releaseAfter ends the lease after lastTs, and the right to continue it.
func (b *block) releaseAfter(lastTs int64) {
	n := len(b.Steps) - 1
	before := b.Steps[n].bounds
	b.Holder.Released = &lastTs
	if lastTs < b.Holder.Created { // no ID was made under it
		b.Steps, b.bounds = b.Steps[:n], before
		return
	}
	b.NotBefore, b.EndNotBefore = lastTs+1, before.EndNotBefore
}

// extendTo moves the end of the lease. The bounds before it stay.
func (b *block) extendTo(end int64) {
	b.Holder.Expired, b.Holder.Renewed = end, true
	b.NotBefore, b.EndNotBefore = end, end
}

// rewindTo returns the block as it was before the steps that lie ahead of now, if
// there are any: the time until the first of them can still be granted, the time
// after it becomes the future.
func (b *block) rewindTo(now int64) (block, bool) {
	before, ok := *b, false
	for n := len(before.Steps) - 1; n >= 0 && before.Steps[n].At > now; n-- {
		s := before.Steps[n]
		future := &span{From: s.At, Until: max(s.At+1, before.NotBefore, before.EndNotBefore)}
		s.addFuture(future)
		s.addFuture(before.Future)
		before.bounds, before.Steps, before.Holder, ok = s.bounds, before.Steps[:n], nil, true
	}
	return before, ok
}

// split returns the blocks that b falls into when its first 2^bitSeq positions
// become one: that one, and a block of each size up to half of b.
func (b *block) split(bitSeq int) []block {
	pieces := make([]block, 0, b.SequenceBits-bitSeq+1)
	addPiece := func(base uint64, bitSeq int) {
		pieces = append(pieces, block{base: base, SequenceBits: bitSeq, bounds: b.bounds, Steps: b.Steps})
	}
	addPiece(b.base, bitSeq)
	for n := bitSeq; n < b.SequenceBits; n++ {
		addPiece(b.base+1<<n, n)
	}
	return pieces
}

// mergeBlocks returns the one block of 2^bitSeq positions at base that parts, in
// order, tile; false if they do not.
func mergeBlocks(base uint64, bitSeq int, parts []block) (block, bool) {
	whole := block{base: base, SequenceBits: bitSeq}
	next := base
	for _, part := range parts {
		if part.base != next || part.SequenceBits >= bitSeq {
			return whole, false
		}
		next += part.size()
		whole.NotBefore, whole.EndNotBefore = max(whole.NotBefore, part.NotBefore), max(whole.EndNotBefore, part.EndNotBefore)
		whole.addFuture(part.Future)
	}
	return whole, next == base+whole.size()
}

// freeKey is the key of a block in the queue of those that become free. Blocks
// that were never granted, which are at time 0, are in the order of their positions
// with the bits reversed: blocks that were made together lie evenly in the space of
// keys, and a scan from a random key finds any of them.
func freeKey(bitSeq int, at int64, base uint64) []byte {
	order := uint32(base)
	if at == 0 {
		order = bits.Reverse32(order >> bitSeq)
	}
	return freeKeyAt(bitSeq, at, order)
}

func freeKeyAt(bitSeq int, at int64, order uint32) []byte {
	key := binary.BigEndian.AppendUint64([]byte{keyFree, byte(bitSeq)}, uint64(at))
	return binary.BigEndian.AppendUint32(key, order)
}

// freeOrder returns what orders the entries of one size and time; 0 for other
// keys.
func freeOrder(key []byte) uint32 {
	if len(key) != freeKeyLength {
		return 0
	}
	return binary.BigEndian.Uint32(key[freeKeyLength-4:])
}

const freeKeyLength = 14

// freeEntry is what the key of an entry of the queue says.
type freeEntry struct {
	key    []byte
	bitSeq int
	at     int64 // NotBefore of the block
	base   uint64
}

// parseFreeKey is the inverse of freeKey.
func parseFreeKey(key []byte) (freeEntry, bool) {
	if len(key) != freeKeyLength || key[0] != keyFree || key[1] >= 32 {
		return freeEntry{}, false
	}
	e := freeEntry{key: key, bitSeq: int(key[1]), at: int64(binary.BigEndian.Uint64(key[2:])), base: uint64(freeOrder(key))}
	if e.at == 0 {
		e.base = uint64(bits.Reverse32(freeOrder(key))) << e.bitSeq
	}
	return e, true
}

// matches reports whether the block is still as the entry says; b is nil if there
// is none.
func (e freeEntry) matches(b *block) bool {
	return b != nil && b.SequenceBits == e.bitSeq && b.NotBefore == e.at
}

// bounds restrict the next lease of a block. Leases stay disjoint because each
// one moves the bounds, whatever any clock says.
type bounds struct {
	// NotBefore is the earliest start of the next lease.
	NotBefore int64 `json:"fence"`
	// EndNotBefore is the earliest end of the next lease. Until then the holder
	// before may make IDs with the fallback bit; the next holder begins to do so
	// when its own lease ends.
	EndNotBefore int64 `json:"carry"`
	// Future is a time ahead that was granted by a clock far ahead. The next
	// lease, with its continuation, ends before it or begins after it.
	Future *span `json:"future,omitempty"`
}

// span is the milliseconds [From, Until).
type span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

func (o *bounds) validate() error {
	if o.NotBefore < 0 || o.EndNotBefore < 0 || o.Future != nil && o.Future.From >= o.Future.Until {
		return errors.New("it has a bound before 1970, or a future that ends before it begins")
	}
	return nil
}

// nextLease returns the earliest lease of a duration that the bounds permit at
// now. It begins later than NotBefore if it would else end before EndNotBefore.
// passed says that it begins after the future; the bounds then have to be moved
// past it.
func (o bounds) nextLease(now, duration int64) (lease span, passed bool) {
	lease.From = max(now, o.NotBefore, o.EndNotBefore-duration)
	lease.Until = lease.From + duration
	if o.Future == nil || 2*lease.Until-lease.From <= o.Future.From {
		return lease, false
	}
	lease, _ = o.afterFuture().nextLease(now, duration)
	return lease, true
}

// afterFuture returns the bounds for a lease after the future.
func (o bounds) afterFuture() bounds {
	if o.Future == nil {
		return o
	}
	return bounds{NotBefore: max(o.NotBefore, o.Future.Until), EndNotBefore: max(o.EndNotBefore, o.Future.Until)}
}

// addFuture extends the future by another one.
func (o *bounds) addFuture(other *span) {
	switch {
	case other == nil:
	case o.Future == nil:
		o.Future = &span{From: other.From, Until: other.Until}
	default:
		o.Future = &span{From: min(o.Future.From, other.From), Until: max(o.Future.Until, other.Until)}
	}
}

// lead is how many milliseconds ahead of the clock a lease may begin if none can
// begin at once, shortly after a release for instance. Its holder waits that
// long.
const lead = 1000

// window selects the blocks of the queue that a search looks at. By the queue, the
// next lease of such a block begins at from or later and before until. The search
// takes a block if its lease begins at latestStart or before.
//
// A search with rewind looks for blocks that were granted by a clock far ahead:
// the time before that lease can still be granted.
type window struct {
	from, until, latestStart int64
	rewind                   bool
}
