// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"maps"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// window tells which blocks of the queue a search looks at: those whose fence
// is in [from, until), for leases that begin at horizon or before. A search with
// rewind is for blocks that somebody with a clock far ahead took: the time
// before his lease is still to be had.
type window struct {
	from, until, horizon int64
	rewind               bool
}

// windows returns the searches in the order of preference.
func (a *acquisition) windows() []window {
	if a.config.Plain {
		return []window{{until: a.now + 1, horizon: a.now}}
	}
	soon := a.now + lead
	// A lease and its continuation have to end before the one that lies ahead
	// begins, which is before that block's fence.
	ahead := a.now + 2*a.config.Duration.Milliseconds()
	return []window{
		{until: a.now + 1, horizon: a.now},
		{until: soon + 1, horizon: soon},
		{from: ahead, until: math.MaxInt64, horizon: soon, rewind: true},
	}
}

// search looks for free blocks in one window. What it finds is written only if
// that is enough.
type search struct {
	*acquisition
	window
	frontier *frontierRecord // as it will be; see loadFrontier
	old      []block         // to be replaced, as they are stored
	new      []block         // that replace them and are not granted
	requeued bool            // a block's place in the queue was set right
	outdated error           // the queue and a block disagree
}

// grant leases blocks that total the throughput, or refuses.
func (a *acquisition) grant(ctx context.Context) error {
	if err := a.checkClock(); err != nil {
		return err
	}
	for _, w := range a.windows() {
		s := &search{acquisition: a, window: w}
		blocks, err := s.find(ctx)
		if err != nil {
			return err
		}
		if blocks != nil {
			return s.lease(blocks)
		}
		if a.refused = s.outdated; a.refused != nil {
			return nil
		}
		if s.requeued {
			a.refused = errAgain
			return nil
		}
	}
	a.refused = a.exhausted()
	return nil
}

func (a *acquisition) exhausted() error {
	return &ExhaustedError{ServiceID: a.service, ThroughputPerMs: a.throughput}
}

// find returns blocks that total the throughput, nil if there are none: one of
// the right size, first of those never granted; one split off a larger one; one
// merged from smaller ones; else several smaller ones.
func (s *search) find(ctx context.Context) ([]block, error) {
	if 1<<s.bitSeq < s.throughput {
		return s.several(ctx, s.bitSeq)
	}
	smaller := func(ctx context.Context) ([]block, error) { return s.several(ctx, s.bitSeq-1) }
	for _, try := range []func(context.Context) ([]block, error){s.exact, s.splitLarger, s.mergeSmaller, smaller} {
		blocks, err := try(ctx)
		if err != nil || blocks != nil || s.outdated != nil {
			return blocks, err
		}
	}
	return nil, nil
}

// lease grants the blocks and writes all that the search changed.
func (s *search) lease(blocks []block) error {
	last := s.config.Layout.Last().UnixMilli()
	for i := range s.old {
		s.drop(&s.old[i])
	}
	for i := range s.new {
		s.put(&s.new[i])
	}
	for i := range blocks {
		b := &blocks[i]
		lease, passed := b.when(s.earliest(), s.config.Duration.Milliseconds())
		if lease.From > last {
			return &idgen.TimeRangeError{Time: time.UnixMilli(lease.From), First: s.config.Layout.First(), Last: s.config.Layout.Last()}
		}
		b.grant(holder{
			Created: lease.From, Expired: min(lease.Until, last+1), Charge: s.charged(lease, 1<<b.BitSeq),
			Secret: randomHex(), Request: s.request, Meta: maps.Clone(s.req.Meta),
		}, passed)
		if s.config.Plain {
			b.Carry = b.Fence // it is not continued
		}
		s.put(b)
		s.leases = append(s.leases, s.config.lease(b))
	}
	s.storeFrontier()
	return nil
}

// usable checks a block that the queue named, and returns it as it can be
// granted.
func (s *search) usable(entry freeEntry, b *block) (block, bool) {
	if b == nil || b.BitSeq != entry.bitSeq || b.Fence != entry.at {
		s.outdated = &CorruptError{ServiceID: s.service, Key: entry.key, Cause: errAgain}
		return block{}, false
	}
	free := *b
	if s.rewind {
		var ok bool
		if free, ok = b.rewind(s.now); !ok {
			return block{}, false
		}
	}
	lease, passed := free.when(s.earliest(), s.config.Duration.Milliseconds())
	if lease.From <= s.horizon {
		return free, true
	}
	if !s.rewind && (passed || lease.From > max(b.Fence, s.record.Floor)) {
		s.requeue(b, lease.From, passed)
	}
	return block{}, false
}

// requeue moves a block that stands too early in the queue: nothing can be
// granted in it before until.
func (s *search) requeue(b *block, until int64, passed bool) {
	behind := *b
	if passed {
		behind.postpone()
	} else {
		behind.wait(until)
	}
	s.drop(b)
	s.put(&behind)
	s.requeued = true
}

// claim takes a usable block out of the store: the search replaces it.
func (s *search) claim(stored *block) { s.old = append(s.old, *stored) }

// refusal returns what Acquire returns for a.refused.
func (a *acquisition) refusal() error {
	var corrupt *CorruptError
	if errors.Is(a.refused, errAgain) && !errors.As(a.refused, &corrupt) {
		return a.exhausted()
	}
	return a.refused
}
