// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/examples/raft/sim"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// TestMutations checks the oracle: it notices each fault that is put into the program within 3,000 runs,
// and nothing in the same runs without the fault.
func TestMutations(t *testing.T) {
	crowded := variant(0) // three nodes that often become candidates together
	crowded.Nodes = 3
	crowded.Timing = rafttimer.Config{ElectionTimeoutMin: ms(150), ElectionTimeoutMax: ms(165)}
	crowded.Drift = 0.01
	cases := map[string]struct {
		mutation sim.Mutation
		options  sim.Options
		kinds    []sim.Kind
	}{
		"votes are not durable":      {sim.ForgetVotes, crowded, []sim.Kind{sim.TwoLeaders}},
		"last entry is not durable":  {sim.LoseTail, variant(0), []sim.Kind{sim.LostEntry}},
		"contact is not told":        {sim.NeverContact, variant(0), []sim.Kind{sim.Unstable, sim.NoLeader}},
		"contact is not told sticky": {sim.NeverContact, variant(1), []sim.Kind{sim.Unstable, sim.NoLeader}},
		"alarm is not set again":     {sim.LoseAlarm, variant(0), []sim.Kind{sim.NoLeader}},
		"etcd/raft counts, too":      {sim.CountTicks, variant(0), []sim.Kind{sim.NoTimeout}},
		"reads by lease":             {sim.LeaseReads, variant(1), []sim.Kind{sim.StaleRead}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := firstViolation(t, c.options, c.mutation, c.kinds)
			c.options.Mutation = sim.None
			if _, err := sim.Run(seed, c.options); err != nil {
				t.Errorf("without the mutation: %v", err)
			}
		})
	}
}

// firstViolation returns the first seed with a violation of one of the kinds.
func firstViolation(t *testing.T, o sim.Options, m sim.Mutation, kinds []sim.Kind) uint64 {
	t.Helper()
	o.Mutation = m
	for seed := uint64(1); seed <= 3000; seed++ {
		_, err := sim.Run(seed, o)
		var v *sim.Violation
		if errors.As(err, &v) && slices.Contains(kinds, v.Kind) {
			t.Log(v)
			return seed
		}
	}
	t.Fatal("not noticed in 3000 runs")
	return 0
}
