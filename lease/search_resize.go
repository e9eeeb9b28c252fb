// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"context"
	"slices"
)

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

// mergeSmaller makes a block of smaller ones that lie side by side.
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
