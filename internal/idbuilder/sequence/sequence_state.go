// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// State returns the state of the sequence.
func (s *Sequence) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Reserved: s.reserved, Version: s.version, Exhausted: s.exhausted}
	st.Last, st.Given = s.last, s.given
	st.Remaining = s.totalSteps() / size(s.spec.Step)
	if g := s.seg.Load(); g.stepsLeft() < g.size {
		st.Last, st.Given = g.lastTaken(), true
	}
	return st
}

// Current returns the last number of the sequence that any pool gave. If this pool has given
// no number yet, or another pool has reserved numbers, too, then exact is false, and value is
// the last reserved number: no number after it was given. For a sequence that the store does
// not have it returns the start.
func (s *Sequence) Current(ctx context.Context) (value int64, exact bool, err error) {
	state, spec := s.State(), s.currentSpec()
	stored, err := s.pool.store.Sequence(ctx, s.name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return spec.Start, true, nil
	case err != nil:
		return 0, false, fmt.Errorf("sequence %q: %w", s.name, err)
	case state.Given && state.Version == stored.Version:
		return state.Last, true, nil
	}
	return stored.Value, false, nil
}

func (s *Sequence) currentSpec() Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec
}

// State is the state of a [Sequence] in memory.
type State struct {
	// Last is the number that was given last, if Given is set: this pool has given
	// one since the sequence came into memory.
	Last  int64
	Given bool
	// Reserved is the last number that this pool has reserved; valid if Version is
	// not 0.
	Reserved int64
	// Version is the version of the sequence in the store after that reservation.
	// As long as the store has the same version, no other pool has reserved since.
	Version int64
	// Remaining is how many steps of the sequence are in memory.
	Remaining uint64
	// Exhausted says that the store has no further numbers.
	Exhausted bool
}
