// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// shrink returns a program as small as delta debugging makes it (Zeller and
// Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) that
// still differs in the same way: without one more of its steps, or of the pairs
// that it starts with, it does not.
func (d *duel) shrink(program *scenario.Scenario, shape string) scenario.Scenario {
	small := *program
	d.settling = settling / 8 // many will not agree
	defer func() { d.settling = settling }()
	differs := func(s scenario.Scenario) bool {
		if !awaitsCommits(s.Steps) {
			return false
		}
		s.Steps = slices.Clone(s.Steps) // fight fills in answers
		differences, err := d.fight(&s)
		return err == nil && len(differences) > 0 && differences[0].Shape() == shape
	}
	small.Steps = fewest(small.Steps, func(steps []scenario.Step) bool {
		s := small
		s.Steps = steps
		return differs(s)
	})
	small.Setup = fewest(small.Setup, func(setup []scenario.PairText) bool {
		s := small
		s.Setup = setup
		return differs(s)
	})
	return small
}

// awaitsCommits reports whether between the start of a commit and the waiting
// for it nothing happens but harmless calls of the same transaction. What else
// came of them would depend on how fast the commit is.
func awaitsCommits(steps []scenario.Step) bool {
	started := -1
	for _, st := range steps {
		switch {
		case started >= 0 && st.Tx != started:
			return false
		case st.Op == "commit_start":
			started = st.Tx
		case st.Op == "commit_await":
			started = -1
		case started >= 0 && slices.Contains([]string{"begin", "reset", "cancel", "commit", "on_error"}, st.Op):
			return false
		}
	}
	return started < 0
}

// fewest takes away parts, halves first and single ones last, as long as what is
// left still fails.
func fewest[T any](all []T, fails func([]T) bool) []T {
	for size := (len(all) + 1) / 2; size > 0; {
		removed := false
		for from := 0; from < len(all); {
			rest := slices.Concat(all[:from], all[min(from+size, len(all)):])
			if fails(rest) {
				all, removed = rest, true
				continue
			}
			from += size
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !removed:
			return all
		}
	}
	return all
}
