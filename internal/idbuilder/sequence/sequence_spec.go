// SPDX-License-Identifier: Apache-2.0

package sequence

import "fmt"

// hasSpec reports whether a sequence is live and has the specification.
func (s *Sequence) hasSpec(spec Spec) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec == spec && !s.evicted && !s.closed
}

// changeSpec changes the specification. It returns false if another Sequence is needed, since
// the direction of one cannot change. The caller holds Pool.mu.
func (s *Sequence) changeSpec(spec Spec) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.spec == spec:
	case (spec.Step < 0) == (s.spec.Step < 0):
		s.applySpec(spec)
	case s.known || s.phase != idle:
		return false, fmt.Errorf("%w: the step of %q was %d, and is now %d", ErrDirection, s.name, s.spec.Step, spec.Step)
	default:
		s.evicted = true
		return false, nil
	}
	return true, nil
}

func (s *Sequence) applySpec(spec Spec) {
	moved := spec.Start != s.spec.Start || spec.Epoch != s.spec.Epoch
	s.spec = spec
	s.exhausted, s.tail = false, false
	s.clipToBound()
	if moved {
		s.forgetState()
	}
}

// forgetState resets a sequence to the state of a new one.
func (s *Sequence) forgetState() {
	s.countDropped(s.totalSteps())
	s.sealSegment()
	s.ahead, s.stock = nil, 0
	s.gen++ // a range that is under way is lost
	s.known, s.given, s.exhausted, s.tail = false, false, false, false
	s.version, s.low = 0, 0
	s.pace = pace{latency: s.latency}
	s.publishSegment(span{from: s.spec.Start})
}
