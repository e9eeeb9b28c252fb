// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"math/bits"
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

// extendFrontier makes blocks behind the frontier and returns up to n of them, as
// there is room.
func (s *search) extendFrontier(ctx context.Context, bitSeq, n int) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	space, size := uint64(1)<<s.request.config.spaceBits(), uint64(1)<<bitSeq
	start := (s.frontier.Next + size - 1) &^ (size - 1)
	if start+size > space {
		return nil, nil
	}
	room := (space - start) / size
	n = int(min(uint64(n), room))
	count := max(min(max(minChunk, start/size), maxChunk, space/chunkShare/size, room), uint64(n))
	s.addLeftover(tile(s.frontier.Next, start)...)
	s.frontier.Next = start + count*size
	made := make([]block, count)
	for i := range made {
		made[i] = block{base: start + uint64(i)*size, BitSeq: bitSeq}
	}
	s.frontier.Sizes |= 1 << bitSeq
	s.addLeftover(made[n:]...)
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
