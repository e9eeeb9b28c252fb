// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/placement/internal/sim"
)

// most is how many seeds each mutation has to be noticed.
const most = 500

// TestMutations checks that the oracle can fail: it notices each fault that is put into the
// program, in one of the first 500 seeds, and nothing in that seed without it.
func TestMutations(t *testing.T) {
	cases := map[string]struct {
		mutation sim.Mutation
		home     sim.Home
		kinds    []sim.Kind
	}{
		"effects are not fenced":                     {sim.NoFence, sim.KeptHome, []sim.Kind{sim.LostUpdate, sim.OutOfOrder}},
		"effects are not fenced where locks lapse":   {sim.NoFence, sim.LapseHome, []sim.Kind{sim.LostUpdate, sim.OutOfOrder}},
		"fence is checked before the write":          {sim.CheckThenWrite, sim.AnyHome, []sim.Kind{sim.LostUpdate, sim.OutOfOrder}},
		"failed stores count":                        {sim.HideStoreFailures, sim.LapseHome, []sim.Kind{sim.TwoActivations, sim.Disagreement}},
		"results are dropped":                        {sim.DropLateResults, sim.AnyHome, []sim.Kind{sim.NotServed, sim.LeftBehind, sim.Stuck, sim.NotAnswered}},
		"removals are unconditional":                 {sim.RemoveAnything, sim.KeptHome, []sim.Kind{sim.TwoActivations}},
		"removals are unconditional at locks":        {sim.RemoveAnything, sim.LapseHome, []sim.Kind{sim.TwoActivations}},
		"claims of living owners are taken":          {sim.TakeFromLiving, sim.KeptHome, []sim.Kind{sim.TwoActivations}},
		"entries are not regarded":                   {sim.IgnoreEntries, sim.LapseHome, []sim.Kind{sim.TwoActivations}},
		"epochs come twice":                          {sim.ReuseEpochs, sim.AnyHome, []sim.Kind{sim.EpochReused}},
		"incarnations come twice":                    {sim.ReuseIncarnations, sim.KeptHome, []sim.Kind{sim.EpochReused, sim.TwoWriters, sim.TwoActivations, sim.LostUpdate}},
		"nothing is given back":                      {sim.ForgetReleases, sim.KeptHome, []sim.Kind{sim.LeftBehind, sim.NotServed, sim.Disagreement}},
		"activations count as ended before they are": {sim.DeactivateEarly, sim.AnyHome, []sim.Kind{sim.TwoActivations}},
		"unreachable is dead":                        {sim.UnreachableIsDead, sim.LapseHome, []sim.Kind{sim.TwoActivations}},
		"old topologies are put in force":            {sim.RenumberTopologies, sim.LapseHome, []sim.Kind{sim.TwoActivations, sim.NotServed}},
		"events are swapped":                         {sim.SwapEvents, sim.AnyHome, []sim.Kind{sim.Unordered}},
		"answers are lost":                           {sim.LoseAnswers, sim.AnyHome, []sim.Kind{sim.NotAnswered, sim.NotServed}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && c.mutation != sim.NoFence {
				t.Skip("-short")
			}
			o := sim.Options{Home: c.home, Mutation: c.mutation}
			seed := firstViolation(t, o, c.kinds)
			o.Mutation = sim.None
			if _, err := sim.Run(seed, o); err != nil {
				t.Errorf("without the mutation: %v", err)
			}
		})
	}
}

// firstViolation returns the first seed with a violation of one of the kinds.
func firstViolation(t *testing.T, o sim.Options, kinds []sim.Kind) uint64 {
	t.Helper()
	for seed := uint64(1); seed <= most; seed++ {
		_, err := sim.Run(seed, o)
		if v := sim.AsViolation(err); v != nil && slices.Contains(kinds, v.Kind) {
			t.Log(v)
			return seed
		} else if v != nil {
			t.Logf("of another kind: %v", v)
		}
	}
	t.Fatalf("not noticed in %d seeds", most)
	return 0
}
