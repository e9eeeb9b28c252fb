// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
)

// maxSpaceBits bounds the bits below the fallback bit: 64, less a reserve of at
// least 1, a timestamp of at least 32, and the fallback bit.
const maxSpaceBits = 30

// block is an aligned run of 2^BitSeq positions that is leased as one. The
// blocks of a service tile the positions below its frontier.
type block struct {
	base   uint64
	BitSeq int `json:"bitSeq"`
	bounds
	Holder *holder `json:"holder,omitempty"` // of the last lease; nil if there was none since the block has this size
	Steps  []step  `json:"steps,omitempty"`  // how the bounds came to be what they are, the last one at the end
}

// bounds hold for whoever is granted any position of a block next. They keep
// rectangles apart without asking what a clock says now.
type bounds struct {
	// Fence is when the next lease begins, at the earliest.
	Fence int64 `json:"fence"`
	// Carry is when the next lease ends, at the earliest: whoever held the
	// positions before may go on until then with the fallback bit set, and
	// whoever holds them next begins to do so when his lease ends.
	Carry int64 `json:"carry"`
	// Future is a stretch of time that was granted to somebody whose clock was
	// far ahead. The next lease, with its continuation, ends before it or
	// begins after it.
	Future *span `json:"future,omitempty"`
}

// step is a move of the bounds: what they were before. Until At, time belongs to
// whoever these bounds permit.
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

// span is the milliseconds [From, Until).
type span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// holder is the last lease of a block.
type holder struct {
	Created  int64             `json:"created"`
	Expired  int64             `json:"expired"`
	Secret   string            `json:"secret"`
	Request  string            `json:"request,omitempty"` // hash of the request key, hexadecimal
	Meta     map[string]string `json:"meta,omitempty"`
	Released *int64            `json:"released,omitempty"` // the last millisecond used, if it was released
	Before   *released         `json:"before,omitempty"`   // the lease before this one, if it was released
	Charge   *charge           `json:"charge,omitempty"`   // where it counts; nil if it was granted without a budget
	Renewed  bool              `json:"renewed,omitempty"`  // Expired is not the end that it was granted with
}

// released is a lease that was released, for whoever repeats that.
type released struct {
	Created int64  `json:"created"`
	LastTs  int64  `json:"lastTs"`
	Secret  string `json:"secret"`
}

func (b *block) check() error {
	all := []bounds{b.bounds}
	for _, s := range b.Steps {
		all = append(all, s.bounds)
	}
	for _, o := range all {
		if o.Fence < 0 || o.Carry < 0 || o.Future != nil && o.Future.From >= o.Future.Until {
			return errors.New("it has a bound before 1970, or a future that ends before it begins")
		}
	}
	h := b.Holder
	switch {
	case b.BitSeq < 0 || b.BitSeq >= maxSpaceBits:
		return fmt.Errorf("it has 2^%d positions", b.BitSeq)
	case h != nil && (h.Created >= h.Expired || h.Secret == ""):
		return errors.New("its lease ends before it begins, or has no secret")
	case h != nil && h.Released == nil && len(b.Steps) == 0:
		return errors.New("it does not tell what was before its lease")
	}
	return nil
}

func (b *block) size() uint64 { return 1 << b.BitSeq }

// when returns the lease that would be granted at now for duration: the
// earliest that the bounds permit, with its continuation. Its length is duration:
// where whoever held the positions before may continue for longer than that, it
// begins later. passed tells that it comes after the future, behind which the
// bounds then have to be moved.
func (o bounds) when(now, duration int64) (lease span, passed bool) {
	lease.From = max(now, o.Fence, o.Carry-duration)
	lease.Until = lease.From + duration
	if o.Future == nil || 2*lease.Until-lease.From <= o.Future.From {
		return lease, false
	}
	lease, _ = o.behindFuture().when(now, duration)
	return lease, true
}

// behindFuture returns the bounds for a lease after the future.
func (o bounds) behindFuture() bounds {
	if o.Future == nil {
		return o
	}
	return bounds{Fence: max(o.Fence, o.Future.Until), Carry: max(o.Carry, o.Future.Until)}
}

// addFuture extends the future by another.
func (o *bounds) addFuture(other *span) {
	switch {
	case other == nil:
	case o.Future == nil:
		o.Future = &span{From: other.From, Until: other.Until}
	default:
		o.Future = &span{From: min(o.Future.From, other.From), Until: max(o.Future.Until, other.Until)}
	}
}

// step notes that the bounds move at a time. The step before is forgotten unless
// it is wide.
func (b *block) step(at int64) {
	if n := len(b.Steps); n > 0 && b.Steps[n-1].At-b.Steps[n-1].Fence <= wideStep {
		b.Steps = b.Steps[:n-1]
	}
	b.Steps = append(b.Steps[max(0, len(b.Steps)+1-maxSteps):len(b.Steps):len(b.Steps)], step{At: at, bounds: b.bounds})
}

// grant gives the block to h from then on. The times of h come from when, as
// does passed.
func (b *block) grant(h holder, passed bool) {
	if last := b.Holder; last != nil && last.Released != nil {
		h.Before = &released{Created: last.Created, LastTs: *last.Released, Secret: last.Secret}
	}
	b.step(h.Created)
	if passed {
		b.Future = nil
	}
	b.Holder = &h
	b.Fence = h.Expired
	b.Carry = h.Expired + (h.Expired - h.Created)
}

// wait moves the fence, and so the block's place in the queue, to a time before
// which nothing can be granted.
func (b *block) wait(until int64) { b.Fence = max(b.Fence, until) }

// postpone moves the bounds behind the future: nothing can be granted before.
func (b *block) postpone() {
	b.step(b.Future.From)
	b.Holder, b.bounds = nil, b.behindFuture()
}

// release ends the lease after lastTs, and with it the right to continue it.
func (b *block) release(lastTs int64) {
	n := len(b.Steps) - 1
	before := b.Steps[n].bounds
	b.Holder.Released = &lastTs
	if lastTs < b.Holder.Created { // nothing was made under it
		b.Steps, b.bounds = b.Steps[:n], before
		return
	}
	b.Fence, b.Carry = lastTs+1, before.Carry
}

// rewind returns the block as it was before the steps that lie ahead of now, if
// there are any: the time until then can still be granted, that behind is a
// future.
func (b *block) rewind(now int64) (block, bool) {
	before, ok := *b, false
	for n := len(before.Steps) - 1; n >= 0 && before.Steps[n].At > now; n-- {
		s := before.Steps[n]
		future := &span{From: s.At, Until: max(s.At+1, before.Fence, before.Carry)}
		s.addFuture(future)
		s.addFuture(before.Future)
		before.bounds, before.Steps, before.Holder, ok = s.bounds, before.Steps[:n], nil, true
	}
	return before, ok
}

// split returns the blocks that b falls into when its first 2^bitSeq positions
// become one: that one, and a block of each size up to half of b.
func (b *block) split(bitSeq int) []block {
	pieces := make([]block, 0, b.BitSeq-bitSeq+1)
	piece := func(base uint64, bitSeq int) {
		pieces = append(pieces, block{base: base, BitSeq: bitSeq, bounds: b.bounds, Steps: b.Steps})
	}
	piece(b.base, bitSeq)
	for n := bitSeq; n < b.BitSeq; n++ {
		piece(b.base+1<<n, n)
	}
	return pieces
}

// merge returns the one block of 2^bitSeq positions at base that parts, in
// order, tile; false if they do not.
func merge(base uint64, bitSeq int, parts []block) (block, bool) {
	whole := block{base: base, BitSeq: bitSeq}
	next := base
	for _, part := range parts {
		if part.base != next || part.BitSeq >= bitSeq {
			return whole, false
		}
		next += part.size()
		whole.Fence, whole.Carry = max(whole.Fence, part.Fence), max(whole.Carry, part.Carry)
		whole.addFuture(part.Future)
	}
	return whole, next == base+whole.size()
}
