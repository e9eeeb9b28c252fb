// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// search looks for free blocks in one window. It takes candidates from the queue,
// which is a snapshot, and claims only blocks that it has read serializably and
// that permit a lease now. What it claims is written by writeChanges; a search
// that finds too little writes nothing but corrections of the queue.
type search struct {
	tx      *serviceTx
	request *acquireRequest
	window  window

	replaced []block         // claimed blocks as the store has them
	leftover []block         // new blocks that nothing is granted of: the rest of what was split, made or replaced
	frontier *frontierRecord // as it will be; nil until it is needed
	next     nextStep        // retry if a block was moved to its right place in the queue
}

// findBlocks returns blocks that total the throughput, nil if there are none: one
// of the right size; one split off a larger one; one merged from smaller ones;
// else several smaller ones.
func (s *search) findBlocks(ctx context.Context) ([]block, error) {
	if 1<<s.request.bitSeq < s.request.throughput {
		return s.findSeveral(ctx, s.request.bitSeq)
	}
	if blocks, err := s.findOfSize(ctx, s.request.bitSeq, 1); err != nil || blocks != nil {
		return blocks, err
	}
	if blocks, err := s.splitLarger(ctx); err != nil || blocks != nil {
		return blocks, err
	}
	if blocks, err := s.mergeSmaller(ctx); err != nil || blocks != nil {
		return blocks, err
	}
	return s.findSeveral(ctx, s.request.bitSeq-1)
}

// findSeveral finds blocks of 2^bitSeq positions and less that total the
// throughput, the largest first.
func (s *search) findSeveral(ctx context.Context, bitSeq int) ([]block, error) {
	if err := s.loadFrontier(ctx); err != nil {
		return nil, err
	}
	var found []block
	missing := s.request.throughput
	for ; bitSeq > 0 && missing > 0; bitSeq-- {
		if bitSeq < s.request.config.Layout.SequenceBits && !s.frontier.hasSize(bitSeq) {
			continue
		}
		n := min((missing+1<<bitSeq-1)>>bitSeq, s.request.maxLeases-len(found))
		if n == 0 {
			return nil, nil
		}
		blocks, err := s.findOfSize(ctx, bitSeq, n)
		if err != nil {
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

// readFree reads the blocks of entries and claims those that can be granted.
// It passes over blocks that cannot be read. stale is an [errStaleQueue] if an entry and
// its block disagree.
func (s *search) readFree(ctx context.Context, entries []freeEntry) (free []block, stale, err error) {
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		keys[i] = blockKey(e.base)
	}
	stored, err := s.tx.getBlocks(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range entries {
		was := stored[i]
		if was.damage != nil {
			s.tx.damage = append(s.tx.damage, was.damage)
			continue
		}
		if !e.matches(was.block) {
			stale = &refusal.CorruptError{ServiceID: s.tx.service, Key: e.key, Cause: errStaleQueue}
			continue
		}
		if b, ok := s.freeBlock(was.block); ok {
			s.replaced = append(s.replaced, *was.block)
			free = append(free, b)
		}
	}
	return free, stale, nil
}

// freeBlock returns a stored block as it can be granted; false if it cannot be
// granted in the window. A block that stands too early in the queue is moved.
func (s *search) freeBlock(stored *block) (block, bool) {
	free := *stored
	if s.window.rewind {
		var ok bool
		if free, ok = stored.rewindTo(s.tx.now); !ok {
			return block{}, false
		}
	}
	lease, passed := s.nextLease(&free)
	if lease.From <= s.window.latestStart {
		return free, true
	}
	if !s.window.rewind && (passed || lease.From > max(stored.NotBefore, s.tx.record.Floor)) {
		s.requeue(stored, lease.From, passed)
	}
	return block{}, false
}

// nextLease returns the lease that would be granted of b now; see
// [bounds.nextLease].
func (s *search) nextLease(b *block) (lease span, passed bool) {
	return b.nextLease(s.tx.earliestStart(), s.tx.duration())
}

// requeue moves a block to its place in the queue: no lease of it begins before
// start.
func (s *search) requeue(b *block, start int64, passed bool) {
	moved := *b
	if passed {
		moved.skipFuture()
	} else {
		moved.delayUntil(start)
	}
	s.tx.deleteBlock(b)
	s.tx.putBlock(&moved)
	s.next = retry
}

// addLeftover keeps blocks to be written that have no holder.
func (s *search) addLeftover(blocks ...block) {
	for _, b := range blocks {
		s.frontier.Sizes |= 1 << b.SequenceBits
	}
	s.leftover = append(s.leftover, blocks...)
}

// writeChanges writes what the search changed, save for the blocks that are
// granted.
func (s *search) writeChanges() {
	for i := range s.replaced {
		s.tx.deleteBlock(&s.replaced[i])
	}
	for i := range s.leftover {
		s.tx.putBlock(&s.leftover[i])
	}
	s.storeFrontier()
}

// These constants decide which of the free blocks a search tries, so that concurrent
// calls seldom try the same. They tune contention and the order in which positions
// go round; readFree checks the blocks whatever their values.
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
			s.tx.damage = append(s.tx.damage, &refusal.CorruptError{ServiceID: s.tx.service, Key: pair.Key, Cause: errKeyLength})
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
