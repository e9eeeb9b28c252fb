// SPDX-License-Identifier: Apache-2.0

package revision_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

var errDown = errors.New("the store is down")

// slowStore has a revision. Each call waits for delay() before it takes effect, and again
// after it.
type slowStore struct {
	store.Store // nil: the other methods are not called
	mu          sync.Mutex
	delay       func() time.Duration
	deaf        bool // Revision does not notice that its context has ended
	down        atomic.Bool
	revision    atomic.Int64
	calls       atomic.Int64 // of Revision
	underWay    atomic.Int64 // calls of Revision
	most        atomic.Int64 // of underWay
}

func (s *slowStore) sleep(ctx context.Context) error {
	s.mu.Lock()
	delay, deaf := time.Duration(0), s.deaf
	if s.delay != nil {
		delay = s.delay()
	}
	s.mu.Unlock()
	if deaf {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowStore) set(deaf bool, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf, s.delay = deaf, func() time.Duration { return delay }
}

func (s *slowStore) Revision(ctx context.Context) (int64, error) {
	s.calls.Add(1)
	s.most.Store(max(s.most.Load(), s.underWay.Add(1)))
	defer s.underWay.Add(-1)
	if err := s.sleep(ctx); err != nil {
		return 0, err
	}
	if s.down.Load() {
		return 0, errDown
	}
	revision := s.revision.Load()
	if err := s.sleep(ctx); err != nil {
		return 0, err
	}
	return revision, nil
}

func (s *slowStore) Advance(ctx context.Context) (int64, error) {
	if err := s.sleep(ctx); err != nil {
		return 0, err
	}
	if s.down.Load() {
		return 0, errDown
	}
	revision := s.revision.Add(1)
	if err := s.sleep(ctx); err != nil {
		return 0, err // the outcome is unknown to the caller
	}
	return revision, nil
}

// randomDelay returns delays up to most, most of them short.
func randomDelay(r *rand.Rand, most time.Duration) func() time.Duration {
	return func() time.Duration {
		if r.IntN(4) > 0 {
			return time.Duration(r.Int64N(int64(20 * time.Millisecond)))
		}
		return time.Duration(r.Int64N(int64(most)))
	}
}
