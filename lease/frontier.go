// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"math/bits"
)

const (
	// chunk is how many blocks at most are made at the frontier at once, so that
	// callers seldom meet there: firstChunk, then as many as there are.
	firstChunk, chunk = 64, 2048

	// chunkShare is the part of the space that such a chunk takes at most.
	chunkShare = 8

	// low is when blocks that were never granted run low: one call in ahead then
	// makes new ones before there are none, when all calls would have to.
	low, ahead = 256, 16
)

// carve makes blocks at the frontier and returns up to n of them, as there is
// room.
func (s *search) carve(ctx context.Context, bitSeq, n int) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	space, size := uint64(1)<<s.config.spaceBits(), uint64(1)<<bitSeq
	start := (s.frontier.Next + size - 1) &^ (size - 1)
	if start+size > space {
		return nil, nil
	}
	room := (space - start) / size
	n = int(min(uint64(n), room))
	count := max(min(max(firstChunk, start/size), chunk, space/chunkShare/size, room), uint64(n))
	s.add(tile(s.frontier.Next, start)...)
	s.frontier.Next = start + count*size
	made := make([]block, count)
	for i := range made {
		made[i] = block{base: start + uint64(i)*size, BitSeq: bitSeq}
	}
	s.frontier.Sizes |= 1 << bitSeq
	s.add(made[n:]...)
	return made[:n], nil
}

// tile returns never granted blocks, as large as alignment permits, that cover
// the positions from up to until.
func tile(from, until uint64) []block {
	var blocks []block
	for from < until {
		bitSeq := min(bits.TrailingZeros64(from), bits.Len64(until-from)-1)
		blocks = append(blocks, block{base: from, BitSeq: bitSeq})
		from += 1 << bitSeq
	}
	return blocks
}

// add notes blocks to be written that nobody holds.
func (s *search) add(blocks ...block) {
	for _, b := range blocks {
		s.frontier.Sizes |= 1 << b.BitSeq
	}
	s.new = append(s.new, blocks...)
}

// loadFrontier reads the frontier, once in a transaction; the search changes a
// copy.
func (s *search) loadFrontier(ctx context.Context) error {
	if s.frontier != nil {
		return nil
	}
	if s.stored == nil {
		values, err := s.tx.Get(ctx, frontierKey())
		if err != nil {
			return err
		}
		s.stored = &frontierRecord{}
		if _, err := s.decode(frontierKey(), values[0], s.stored); err != nil {
			return err
		}
	}
	copied := *s.stored
	s.frontier = &copied
	return nil
}

// storeFrontier writes the frontier if the search has changed it.
func (s *search) storeFrontier() {
	if s.frontier != nil && *s.frontier != *s.stored {
		s.set(frontierKey(), encode(frontierKey(), s.frontier))
	}
}
