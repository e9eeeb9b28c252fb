// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"math/rand/v2"
	"slices"
)

// This file decides which of the free blocks a search tries, so that concurrent
// calls seldom try the same. It tunes contention and the order in which positions
// go round; the blocks that it returns were checked by readFree.

const (
	// maxCandidates is how many blocks that were granted before are scanned, those
	// free for longest, of which the ones to grant are drawn: so many concurrent
	// calls seldom draw the same.
	maxCandidates = 128

	// minSample is how many blocks that were never granted are scanned, beginning
	// at a random one of them: calls draw from all of them.
	minSample = 32

	// maxDraws is how often blocks are drawn that turn out not to be free.
	maxDraws = 4

	// When fewer than fewBlocks blocks that were never granted seem to be left, one
	// call in refillOdds makes new ones. Otherwise all calls would have to at once
	// when none is left.
	fewBlocks, refillOdds = 256, 16
)

// findOfSize finds up to n blocks of 2^bitSeq positions, nil if there are none.
// It prefers blocks that were never granted, then those free for longest, so that
// positions go round.
func (s *search) findOfSize(ctx context.Context, bitSeq, n int) ([]block, error) {
	entries, few, err := s.scanNeverGranted(ctx, bitSeq, n)
	if err == nil && len(entries) < n {
		entries, err = s.scanQueue(ctx, bitSeq, max(n, maxCandidates))
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
	if enough && !(few && rand.IntN(refillOdds) == 0) {
		return s.drawFree(ctx, entries, n)
	}
	made, err := s.extendFrontier(ctx, bitSeq, n)
	if err != nil || len(made) == n {
		return made, err
	}
	drawn, err := s.drawFree(ctx, entries, n-len(made))
	return append(made, drawn...), err
}

// scanNeverGranted returns entries of blocks that were never granted, and whether
// there seem to be few. Their order has nothing to do with their positions, and
// the first one is a random one of them: see freeKey. Those before it are not
// scanned.
func (s *search) scanNeverGranted(ctx context.Context, bitSeq, n int) (entries []freeEntry, few bool, err error) {
	if s.window.from > 0 {
		return nil, false, nil
	}
	start, limit := rand.Uint32(), max(n, minSample)
	pairs, err := s.tx.store.Scan(ctx, freeKeyAt(bitSeq, 0, start), freeKey(bitSeq, 1, 0), limit)
	if err != nil {
		return nil, false, err
	}
	scanned := uint64(1)<<32 - uint64(start)
	if len(pairs) == limit {
		scanned = uint64(freeOrder(pairs[limit-1].Key)-start) + 1
	}
	return s.parseEntries(pairs), uint64(len(pairs))<<32/scanned < fewBlocks, nil
}

// scanQueue returns the first entries of a size in the window.
func (s *search) scanQueue(ctx context.Context, bitSeq, limit int) ([]freeEntry, error) {
	pairs, err := s.tx.store.Scan(ctx, freeKey(bitSeq, s.window.from, 0), freeKey(bitSeq, s.window.until, 0), limit)
	if err != nil {
		return nil, err
	}
	return s.parseEntries(pairs), nil
}

// parseEntries returns what the keys of the queue say. It passes over those that are none.
func (s *search) parseEntries(pairs []Pair) []freeEntry {
	entries := make([]freeEntry, 0, len(pairs))
	for _, pair := range pairs {
		if e, ok := parseFreeKey(pair.Key); ok {
			entries = append(entries, e)
		} else {
			s.tx.damage = append(s.tx.damage, &CorruptError{ServiceID: s.tx.service, Key: pair.Key, Cause: errKeyLength})
		}
	}
	return entries
}

// drawFree claims up to n blocks of the entries that turn out to be free. It
// draws them at random, or in their order if the service is plain. A draw of nothing
// but blocks that cannot be read does not count. If none was free and the last draw met a
// stale entry, the error is an [errStaleQueue].
func (s *search) drawFree(ctx context.Context, entries []freeEntry, n int) ([]block, error) {
	if !s.request.config.Plain {
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	}
	var drawn []block
	var stale error
	for draws := 0; draws < maxDraws; {
		damaged := len(s.tx.damage)
		some := entries[:min(n-len(drawn), len(entries))]
		entries = entries[len(some):]
		if len(some) == 0 {
			break
		}
		var free []block
		var err error
		if free, stale, err = s.readFree(ctx, some); err != nil {
			return nil, err
		}
		drawn = append(drawn, free...)
		if len(s.tx.damage)-damaged < len(some) {
			draws++
		}
	}
	if len(drawn) == 0 {
		return nil, stale
	}
	return drawn, nil
}
