// SPDX-License-Identifier: Apache-2.0

package lease

import "fmt"

// examineBlock checks a block, and that the next one begins where it ends.
func (x *examiner) examineBlock(pair Pair, next *Pair) error {
	base, ok := blockBase(pair.Key)
	if !ok {
		return errKeyLength
	}
	x.checkFirst(pair.Key, x.before, base)
	b := block{base: base}
	if err := decode(x.service, pair.Key, pair.Value, &b); err != nil {
		return err
	}
	x.countBlock(&b)
	x.checkCharge(&b, pair.Key)
	x.want(FaultQueue, pair.Key, freeKey(b.BitSeq, b.NotBefore, base), func(value []byte) string {
		if value == nil {
			return fmt.Sprintf("its entry in the queue is missing: its %d positions are never granted again", b.size())
		}
		return ""
	})
	if x.checkPlace(&b, pair.Key) {
		x.checkNext(&b, pair.Key, next)
	}
	return nil
}

// countBlock counts the block among those that are held or free.
func (x *examiner) countBlock(b *block) {
	switch h := b.Holder; {
	case h == nil || h.Released != nil || h.Expired <= x.now:
		x.Free++
	case h.Expired <= x.now+x.soon:
		x.Ending++
	default:
		x.Held++
	}
}

// spaceBits returns the bits of a position.
func (r *serviceRecord) spaceBits() int { return 64 - r.BitReserve - r.BitTs - 1 }

// checkPlace reports whether the block lies in the space of the service.
func (x *examiner) checkPlace(b *block, key []byte) bool {
	end := b.base + b.size()
	switch {
	case b.base%b.size() != 0:
		x.addFault(FaultPlace, key, "2^%d positions do not begin at %d", b.BitSeq, b.base)
	case x.Known && end > 1<<x.record.spaceBits():
		x.addFault(FaultPlace, key, "its positions %d to %d do not lie in the %d positions of the service", b.base, end-1, uint64(1)<<x.record.spaceBits())
	case x.bounded && end > x.frontier.Next:
		x.addFault(FaultFrontier, key, "its positions %d to %d do not lie before the frontier %d: they may be granted once more", b.base, end-1, x.frontier.Next)
	default:
		return true
	}
	return false
}

// checkNext checks that the positions behind the block begin another one, or are those
// that were never granted.
func (x *examiner) checkNext(b *block, key []byte, next *Pair) {
	if x.record.Removing || !x.bounded {
		return
	}
	end, begins := b.base+b.size(), x.frontier.Next
	if next != nil {
		if base, ok := blockBase(next.Key); ok {
			begins = min(base, begins)
		}
	}
	switch {
	case begins < end:
		x.addFault(FaultOverlap, key, "its positions %d to %d overlap the next block, which begins at %d", b.base, end-1, begins)
	case begins > end:
		x.addFault(FaultGap, key, "the positions %d to %d behind it are in no block: they are never granted", end, begins-1)
	}
}

// checkFirst checks that the positions from 0 on begin a block, if any were ever granted.
// before is the key before that of the first block, or of the frontier where there is none.
func (x *examiner) checkFirst(key, before []byte, begins uint64) {
	if len(before) > 0 && before[0] == keyBlock || begins == 0 || !x.bounded || x.record.Removing {
		return
	}
	if end := min(begins, x.frontier.Next); end > 0 {
		x.addFault(FaultGap, key, "the positions 0 to %d are in no block: they are never granted", end-1)
	}
}
