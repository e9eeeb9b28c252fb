// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"time"
)

// evictIdle removes idle sequences until the pool is closed, each at the latest after one and
// a half times Options.Idle.
func (p *Pool) evictIdle() {
	defer close(p.swept)
	if p.o.Idle < 0 {
		return
	}
	ticker := time.NewTicker(max(p.o.Idle/2, 1))
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-ticker.C:
			p.evictUnused()
		}
	}
}

func (p *Pool) evictUnused() {
	now := p.now()
	var offers []offer
	for _, s := range p.list() {
		if s.isUnused(now) {
			offers = append(offers, p.evictSequence(s)...)
		}
	}
	p.giveBack(p.ctx, offers)
}

// evictSequence removes a sequence, unless it is in use, and returns the numbers of it that
// can be given back.
func (p *Pool) evictSequence(s *Sequence) []offer {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == active || len(s.waiters) > 0 {
		return nil
	}
	s.stopTimer()
	s.sealSegment()
	offers := s.makeOffers()
	s.forgetState()
	s.evicted, s.checked = true, false
	delete(p.all, s.name)
	p.counts.evictions.Add(1)
	return offers
}

// findRevived returns the sequence in memory with the name of an evicted one, or makes the
// evicted one live again.
func (p *Pool) findRevived(s *Sequence) (*Sequence, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	live := p.all[s.name]
	if live == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.evicted = false
		p.all[s.name] = s
		return s, nil
	}
	if (live.seg.Load().step < 0) != (s.seg.Load().step < 0) {
		return nil, ErrDirection
	}
	return live, nil
}
