// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/placement/internal/sim"
)

// TestShrink checks that what is shown of a seed that fails is a part of its plan, fails in the same
// way, and says how.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs many seeds")
	}
	var trace []string
	o := sim.Options{Home: sim.KeptHome, Mutation: sim.NoFence}
	seed := firstViolation(t, o, []sim.Kind{sim.LostUpdate, sim.OutOfOrder})
	_, err := sim.Run(seed, o)
	whole := sim.AsViolation(err)
	o.Trace = func(line string) { trace = append(trace, line) }
	found, o, steps := sim.Shrink(seed, o)
	if found == nil || found.Kind != whole.Kind || len(trace) > 0 {
		t.Fatalf("seed %d shrinks from %v to %v, with %d lines of trace", seed, whole, found, len(trace))
	}
	if len(steps) == 0 || len(steps) > 60 {
		t.Errorf("seed %d fails with %d steps:\n%s", seed, len(steps), strings.Join(steps, "\n"))
	}
	if _, err := sim.Run(seed, o); err == nil || err.Error() != found.Error() {
		t.Errorf("the steps fail with %v, then with %v", found, err)
	}
	if !slices.ContainsFunc(trace, func(line string) bool { return strings.Contains(line, "VIOLATION") }) {
		t.Errorf("the trace of %d lines has no violation", len(trace))
	}
	t.Logf("%v\n%s", found, strings.Join(steps, "\n"))
}
