// SPDX-License-Identifier: Apache-2.0

package lease

import "context"

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
		if bitSeq < s.request.config.Layout.BitSeq && !s.frontier.hasSize(bitSeq) {
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
			stale = &CorruptError{ServiceID: s.tx.service, Key: e.key, Cause: errStaleQueue}
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
		s.frontier.Sizes |= 1 << b.BitSeq
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
