// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"time"
)

// refuseCalls makes all calls of Take return ErrClosed.
func (s *Sequence) refuseCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stopTimer()
	s.endWaiters(ErrClosed)
	s.sealSegment()
}

// isUnused reports whether nothing was taken for Options.Idle. Take does not record the time,
// which would cost more than taking a number.
func (s *Sequence) isUnused(now time.Duration) bool {
	if next := s.seg.Load().lastTaken(); next != s.seen || !s.checked {
		s.seen, s.seenAt, s.checked = next, now, true
		return false
	}
	return now-s.seenAt >= s.pool.o.Idle
}

func (s *Sequence) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.phase == backoff {
		s.setPhase(idle)
	}
}

// takeRevived takes from an evicted sequence that is used again.
func (s *Sequence) takeRevived(ctx context.Context, need uint64) (int64, error) {
	live, err := s.pool.findRevived(s)
	if err != nil {
		return 0, err
	}
	return live.takeFrom(ctx, live.seg.Load(), need)
}
