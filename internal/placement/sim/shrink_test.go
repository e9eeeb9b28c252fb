// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// Shrink cuts steps out of the plan of a seed that fails, as long as what is left
// fails in the same way. It returns the violation that remains, and the steps that
// lead to it; the options, with Trace, then give the trace of that run alone. The
// algorithm is that of Zeller and Hildebrandt (Simplifying and isolating
// failure-inducing input, 2002): halves first, then smaller parts.
func Shrink(seed uint64, o Options) (*Violation, Options, []string) {
	trace := o.Trace
	o.Trace = nil
	_, err := Run(seed, o)
	found := AsViolation(err)
	if found == nil {
		return nil, o, nil
	}
	set := newSetting(seed, o)
	all := newPlan(seed, set.machines+set.clients, set.keys, set.calls)
	s := shrinker{seed: seed, options: o, kind: found.Kind, steps: len(all), found: found}
	s.shrink()
	s.options.cut = s.cutBut(s.kept)
	s.options.Trace = trace
	steps := make([]string, 0, len(s.kept))
	for _, i := range s.kept {
		steps = append(steps, fmt.Sprintf("%10.6f  %v", all[i].at.Seconds(), all[i]))
	}
	return s.found, s.options, steps
}

// shrinker looks for a small plan.
type shrinker struct {
	seed    uint64
	options Options
	kind    Kind
	steps   int
	kept    []int // of the steps
	found   *Violation
}

func (s *shrinker) shrink() {
	for i := range s.steps {
		s.kept = append(s.kept, i)
	}
	for part := (len(s.kept) + 1) / 2; part > 0; part /= 2 {
		for s.cutParts(part) && part == 1 { // steps may only be needed by some that are cut later
		}
	}
}

// cutParts tries to cut each part of a size, and reports whether it has cut one.
func (s *shrinker) cutParts(size int) (cut bool) {
	for from := 0; from < len(s.kept); {
		if s.tryCut(from, size) {
			cut = true
		} else {
			from += size
		}
	}
	return cut
}

// tryCut cuts a part out, if the rest still fails.
func (s *shrinker) tryCut(from, part int) bool {
	to := min(from+part, len(s.kept))
	rest := append(append([]int(nil), s.kept[:from]...), s.kept[to:]...)
	o := s.options
	o.cut = s.cutBut(rest)
	_, err := Run(s.seed, o)
	v := AsViolation(err)
	if v == nil || v.Kind != s.kind {
		return false
	}
	s.kept, s.found = rest, v
	return true
}

// cutBut returns the steps that are not kept.
func (s *shrinker) cutBut(kept []int) map[int]bool {
	cut := make(map[int]bool, s.steps)
	for i := range s.steps {
		cut[i] = true
	}
	for _, i := range kept {
		delete(cut, i)
	}
	return cut
}
