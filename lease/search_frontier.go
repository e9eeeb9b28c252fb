// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// New blocks are made in chunks, so that concurrent calls
// seldom conflict on the frontier.
const (
	// minChunk is how many blocks are made at once at first; afterwards as many as
	// there are, up to maxChunk.
	minChunk, maxChunk = 64, 2048

	// chunkShare is the part of the space that a chunk takes at most.
	chunkShare = 8
)

// extendFrontier makes blocks after the frontier, or below the start if there is no
// room left, and returns up to n of them.
func (s *search) extendFrontier(ctx context.Context, bitSeq, n int) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	space, size := uint64(1)<<s.request.config.spaceBits(), uint64(1)<<bitSeq
	start := (s.frontier.Next + size - 1) &^ (size - 1)
	if s.frontier.Next == 0 {
		start = s.firstStart(space, size)
		s.frontier.Next, s.frontier.Start, s.frontier.Below = start, start, start
		s.leftover = append(s.leftover, tile(0, start)...)
	}
	if start+size > space {
		return s.cutBelow(ctx, bitSeq, n)
	}
	count := s.chunkSize(size, (space-start)/size, n)
	s.addLeftover(tile(s.frontier.Next, start)...)
	s.frontier.Next = start + count*size
	return s.makeBlocks(start, bitSeq, count, n), nil
}

// cutBelow makes blocks of the upper end of the large ones below the start. Those of them
// that are not larger than the new ones become like all others. So do all, if the one to
// cut is not as it was made.
func (s *search) cutBelow(ctx context.Context, bitSeq, n int) ([]block, error) {
	size := uint64(1) << bitSeq
	s.leaveBelow(size)
	if s.frontier.Below == 0 {
		return nil, nil
	}
	large := block{SequenceBits: bits.TrailingZeros64(s.frontier.Below)}
	large.base = s.frontier.Below - large.size()
	free, _, err := s.readFree(ctx, []freeEntry{{key: freeKey(large.SequenceBits, 0, large.base), bitSeq: large.SequenceBits, base: large.base}})
	if err != nil {
		return nil, err
	}
	if len(free) == 0 {
		s.leaveBelow(1 << maxSpaceBits)
		return nil, nil
	}
	count := s.chunkSize(size, large.size()/size, n)
	made := s.makeBlocks(s.frontier.Below-count*size, bitSeq, count, n)
	s.frontier.Below -= count * size
	s.leftover = append(s.leftover, tile(large.base, s.frontier.Below)...)
	return made, nil
}

// leaveBelow lets searches split the large blocks below the start of up to a size, by
// the queue.
func (s *search) leaveBelow(size uint64) {
	small := s.frontier.Below & (size<<1 - 1)
	s.frontier.Sizes |= small
	s.frontier.Below -= small
}

// chunkSize returns how many blocks are made of room for some, n of which are wanted.
func (s *search) chunkSize(size, room uint64, n int) uint64 {
	f := s.frontier
	made := f.Next - min(f.Next, f.Start) + f.Start - f.Below
	space := uint64(1) << s.request.config.spaceBits()
	return max(min(max(minChunk, made/size), maxChunk, space/chunkShare/size, room), min(uint64(n), room))
}

// makeBlocks makes blocks, the first at start, and returns up to n of them.
func (s *search) makeBlocks(start uint64, bitSeq int, count uint64, n int) []block {
	made := make([]block, count)
	for i := range made {
		made[i] = block{base: start + uint64(i)<<bitSeq, SequenceBits: bitSeq}
	}
	s.frontier.Sizes |= 1 << bitSeq
	n = min(n, len(made))
	s.addLeftover(made[n:]...)
	return made[:n]
}

// firstStart returns where the first block of a service is made: at a random place in the
// lower half of its positions, so that two databases seldom make equal IDs, which a program
// could mix up. A plain service, which grants positions in their order, begins with the
// first.
func (s *search) firstStart(space, size uint64) uint64 {
	if s.request.config.Plain {
		return 0
	}
	return rand.Uint64N(space/2/size) * size
}

// tile returns never granted blocks, as large as alignment permits, that cover
// the positions from up to until.
func tile(from, until uint64) []block {
	var blocks []block
	for from < until {
		bitSeq := min(bits.TrailingZeros64(from), bits.Len64(until-from)-1)
		blocks = append(blocks, block{base: from, SequenceBits: bitSeq})
		from += 1 << bitSeq
	}
	return blocks
}

// loadFrontier gives the search a copy of the frontier to change.
func (s *search) loadFrontier(ctx context.Context) error {
	if s.frontier != nil {
		return nil
	}
	stored, err := s.tx.readFrontier(ctx)
	if err != nil {
		return err
	}
	copied := *stored
	s.frontier = &copied
	return nil
}

// storeFrontier writes the frontier if the search has changed it.
func (s *search) storeFrontier() {
	if s.frontier != nil && *s.frontier != *s.tx.frontier {
		s.tx.set(frontierKey(), encode(frontierKey(), s.frontier))
	}
}

// mergeTries is how many places are looked at for smaller blocks to merge,
// maxMergeBits the logarithm of how many of them may make up one.
const mergeTries, maxMergeBits = 4, 6

// splitLarger splits a block of the right size off a larger one.
func (s *search) splitLarger(ctx context.Context) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	for bitSeq := s.request.bitSeq + 1; bitSeq < s.request.config.spaceBits(); bitSeq++ {
		if !s.frontier.hasSize(bitSeq) {
			continue
		}
		entries, err := s.scanQueue(ctx, bitSeq, maxCandidates)
		if err != nil {
			return nil, err
		}
		larger, err := s.drawFree(ctx, entries, 1)
		if err != nil {
			return nil, err
		}
		if len(larger) > 0 {
			pieces := larger[0].split(s.request.bitSeq)
			s.frontier.Sizes |= 1 << s.request.bitSeq
			s.addLeftover(pieces[1:]...)
			return pieces[:1], nil
		}
	}
	return nil, nil
}

// mergeSmaller makes a block of smaller ones that are adjacent.
func (s *search) mergeSmaller(ctx context.Context) ([]block, error) {
	if s.window.rewind {
		return nil, nil
	}
	for bitSeq := s.request.bitSeq - 1; bitSeq >= max(s.request.bitSeq-maxMergeBits, 0); bitSeq-- {
		if !s.frontier.hasSize(bitSeq) {
			continue
		}
		entries, err := s.scanQueue(ctx, bitSeq, maxCandidates)
		if err != nil {
			return nil, err
		}
		for _, base := range s.mergePlaces(entries) {
			whole, ok, err := s.mergeAt(ctx, base)
			if err != nil {
				return nil, err
			}
			if ok {
				s.frontier.Sizes |= 1 << s.request.bitSeq
				return []block{whole}, nil
			}
		}
	}
	return nil, nil
}

// mergePlaces returns some aligned bases around entries, those free for longest
// first.
func (s *search) mergePlaces(entries []freeEntry) []uint64 {
	var bases []uint64
	for _, e := range entries {
		base := e.base &^ (1<<s.request.bitSeq - 1)
		if len(bases) < mergeTries && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	return bases
}

// mergeAt claims the blocks at base and merges them, if they are all free.
func (s *search) mergeAt(ctx context.Context, base uint64) (whole block, ok bool, err error) {
	const maxParts = 1 << maxMergeBits
	pairs, err := s.tx.store.Scan(ctx, blockKey(base), blockKey(base+1<<s.request.bitSeq), maxParts+1)
	if err != nil || len(pairs) > maxParts {
		return whole, false, err
	}
	parts, damage := s.tx.decodeBlocks(pairs)
	if damage != nil {
		s.tx.damage = append(s.tx.damage, damage)
		return whole, false, nil
	}
	if whole, ok = mergeBlocks(base, s.request.bitSeq, parts); !ok {
		return whole, false, nil
	}
	if lease, _ := s.nextLease(&whole); lease.From > s.window.latestStart {
		return whole, false, nil
	}
	if same, err := s.readSame(ctx, pairs); !same || err != nil {
		return whole, false, err
	}
	s.replaced = append(s.replaced, parts...)
	return whole, true, nil
}

// readSame reads the keys of pairs serializably, so that the commit depends on
// their values, and reports whether the scan returned the same.
func (s *search) readSame(ctx context.Context, pairs []Pair) (bool, error) {
	keys := make([][]byte, len(pairs))
	for i, pair := range pairs {
		keys[i] = pair.Key
	}
	values, err := s.tx.store.Get(ctx, keys...)
	if err != nil {
		return false, err
	}
	for i, pair := range pairs {
		if !bytes.Equal(values[i], pair.Value) {
			return false, nil
		}
	}
	return true, nil
}
