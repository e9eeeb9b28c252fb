// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
)

const (
	// candidates is how many blocks that were granted before are looked at, those
	// free for longest, of which the ones to grant are drawn: so many callers at
	// once seldom draw the same.
	candidates = 128

	// sample is how many blocks that were never granted are looked at, beginning
	// anywhere among them: callers draw from all of them.
	sample = 32

	// draws is how often blocks are drawn that turn out not to be free.
	draws = 4

	// mergeTries is how many places are looked at for smaller blocks to merge,
	// mergeParts how many of them may make up one.
	mergeTries, mergeParts = 4, 64
)

// exact finds one block of the size asked for.
func (s *search) exact(ctx context.Context) ([]block, error) {
	return s.ofSize(ctx, s.bitSeq, 1)
}

// ofSize finds up to n blocks of 2^bitSeq positions, nil if there are none. It
// prefers blocks that were never granted, then those that were free for
// longest, which is what makes positions go round.
func (s *search) ofSize(ctx context.Context, bitSeq, n int) ([]block, error) {
	entries, few, err := s.neverGranted(ctx, bitSeq, n)
	if err == nil && len(entries) < n {
		entries, err = s.queue(ctx, bitSeq, max(n, candidates))
	}
	if err != nil {
		return nil, err
	}
	never := slices.IndexFunc(entries, func(e freeEntry) bool { return e.at > 0 })
	if never < 0 {
		never = len(entries)
	}
	enough := never >= n
	if enough {
		entries = entries[:never]
	}
	if enough && !(few && rand.IntN(ahead) == 0) {
		return s.draw(ctx, entries, n)
	}
	carved, err := s.carve(ctx, bitSeq, n)
	if err != nil || len(carved) == n {
		return carved, err
	}
	drawn, err := s.draw(ctx, entries, n-len(carved))
	return append(carved, drawn...), err
}

// neverGranted returns entries of blocks that were never granted, and whether
// there seem to be few. Their order has nothing to do with their positions, and
// the first one is any of them: see freeKey. Those before it are not looked at.
func (s *search) neverGranted(ctx context.Context, bitSeq, n int) (entries []freeEntry, few bool, err error) {
	if s.from > 0 {
		return nil, false, nil
	}
	start, limit := rand.Uint32(), max(n, sample)
	pairs, err := s.tx.Scan(ctx, freeKeyAt(bitSeq, 0, start), freeKey(bitSeq, 1, 0), limit)
	if err != nil {
		return nil, false, err
	}
	passed := uint64(1)<<32 - uint64(start)
	if len(pairs) == limit {
		passed = uint64(freeOrder(pairs[limit-1].Key)-start) + 1
	}
	entries, err = s.entries(pairs)
	return entries, uint64(len(pairs))<<32/passed < low, err
}

// queue returns the first entries of a size in the window.
func (s *search) queue(ctx context.Context, bitSeq, limit int) ([]freeEntry, error) {
	pairs, err := s.tx.Scan(ctx, freeKey(bitSeq, s.from, 0), freeKey(bitSeq, s.until, 0), limit)
	if err != nil {
		return nil, err
	}
	return s.entries(pairs)
}

// entries takes the keys of entries apart.
func (s *search) entries(pairs []Pair) ([]freeEntry, error) {
	entries := make([]freeEntry, len(pairs))
	for i, pair := range pairs {
		var ok bool
		if entries[i], ok = parseFreeKey(pair.Key); !ok {
			return nil, &CorruptError{ServiceID: s.service, Key: pair.Key, Cause: errKeyLength}
		}
	}
	return entries, nil
}

// draw returns up to n of the entries' blocks, at random, or in their order where
// the service is plain, that turn out to be free.
func (s *search) draw(ctx context.Context, entries []freeEntry, n int) ([]block, error) {
	if !s.config.Plain {
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	}
	var drawn []block
	var outdated error
	for range draws {
		some := entries[:min(n-len(drawn), len(entries))]
		entries = entries[len(some):]
		if len(some) == 0 {
			break
		}
		free, err := s.check(ctx, some)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, free...)
		outdated, s.outdated = s.outdated, nil
	}
	if len(drawn) == 0 {
		s.outdated = outdated
	}
	return drawn, nil
}

// check reads the entries' blocks and claims those that are free.
func (s *search) check(ctx context.Context, entries []freeEntry) ([]block, error) {
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		keys[i] = blockKey(e.base)
	}
	stored, err := s.blocks(ctx, keys)
	if err != nil {
		return nil, err
	}
	var free []block
	for i, e := range entries {
		if b, ok := s.usable(e, stored[i]); ok {
			s.claim(stored[i])
			free = append(free, b)
		}
	}
	return free, nil
}

// splitLarger finds a block in a larger one.
func (s *search) splitLarger(ctx context.Context) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	for bitSeq := s.bitSeq + 1; bitSeq < s.config.spaceBits(); bitSeq++ {
		if s.frontier.Sizes>>bitSeq&1 == 0 {
			continue
		}
		entries, err := s.queue(ctx, bitSeq, candidates)
		if err != nil {
			return nil, err
		}
		larger, err := s.draw(ctx, entries, 1)
		if err != nil || s.outdated != nil {
			return nil, err
		}
		if len(larger) > 0 {
			pieces := larger[0].split(s.bitSeq)
			s.frontier.Sizes |= 1 << s.bitSeq
			s.add(pieces[1:]...)
			return pieces[:1], nil
		}
	}
	return nil, nil
}

// mergeSmaller makes a block of smaller ones that lie side by side.
func (s *search) mergeSmaller(ctx context.Context) ([]block, error) {
	if s.rewind {
		return nil, nil
	}
	for bitSeq := s.bitSeq - 1; bitSeq >= max(s.bitSeq-6, 0); bitSeq-- { // mergeParts are 2^6
		if s.frontier.Sizes>>bitSeq&1 == 0 {
			continue
		}
		entries, err := s.queue(ctx, bitSeq, candidates)
		if err != nil {
			return nil, err
		}
		for _, base := range s.places(entries) {
			whole, ok, err := s.mergeAt(ctx, base)
			if err != nil {
				return nil, err
			}
			if ok {
				s.frontier.Sizes |= 1 << s.bitSeq
				return []block{whole}, nil
			}
		}
	}
	return nil, nil
}

// places returns some aligned bases around entries, those free for longest
// first.
func (s *search) places(entries []freeEntry) []uint64 {
	var bases []uint64
	for _, e := range entries {
		base := e.base &^ (1<<s.bitSeq - 1)
		if len(bases) < mergeTries && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	return bases
}

// mergeAt makes a block of those at base, if they are all free.
func (s *search) mergeAt(ctx context.Context, base uint64) (whole block, ok bool, err error) {
	pairs, err := s.tx.Scan(ctx, blockKey(base), blockKey(base+1<<s.bitSeq), mergeParts+1)
	if err != nil || len(pairs) > mergeParts {
		return whole, false, err
	}
	keys, parts := make([][]byte, len(pairs)), make([]block, len(pairs))
	for i, pair := range pairs {
		b, err := s.block(pair.Key, pair.Value)
		if err != nil {
			return whole, false, err
		}
		keys[i], parts[i] = pair.Key, *b
	}
	if whole, ok = merge(base, s.bitSeq, parts); !ok {
		return whole, false, nil
	}
	if lease, _ := whole.when(s.earliest(), s.config.Duration.Milliseconds()); lease.From > s.horizon {
		return whole, false, nil
	}
	values, err := s.tx.Get(ctx, keys...) // what was scanned is to be so at the commit
	if err != nil {
		return whole, false, err
	}
	for i, pair := range pairs {
		if !bytes.Equal(values[i], pair.Value) {
			return whole, false, nil
		}
	}
	s.old = append(s.old, parts...)
	return whole, true, nil
}

// several finds blocks of 2^bitSeq positions and less that total the
// throughput, the largest first.
func (s *search) several(ctx context.Context, bitSeq int) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	var found []block
	missing := s.throughput
	for ; bitSeq > 0 && missing > 0; bitSeq-- {
		if bitSeq < s.config.Layout.BitSeq && s.frontier.Sizes>>bitSeq&1 == 0 {
			continue
		}
		n := min((missing+1<<bitSeq-1)>>bitSeq, s.server.options.MaxLeases-len(found))
		if n == 0 {
			return nil, nil
		}
		blocks, err := s.ofSize(ctx, bitSeq, n)
		if err != nil || s.outdated != nil {
			return nil, err
		}
		found = append(found, blocks...)
		missing -= len(blocks) << bitSeq
	}
	if missing > 0 {
		return nil, nil
	}
	return found, nil
}
