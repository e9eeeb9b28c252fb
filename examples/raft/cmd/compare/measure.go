// SPDX-License-Identifier: Apache-2.0

package main

import (
	crand "crypto/rand"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/sim"
)

// figures has the figures of many crashes.
type figures struct {
	median, p99 time.Duration
	elections   float64 // for each crash
	needless    float64 // elections an hour while there was a leader
}

// measure runs the seeds from 1 on.
func measure(o sim.Options, runs int) (figures, error) {
	var took []time.Duration
	var all sim.Takeover
	for seed := uint64(1); seed <= uint64(runs); seed++ {
		seedTicks(seed)
		t, err := sim.RunTakeover(seed, o)
		if err != nil {
			return figures{}, err
		}
		took = append(took, t.Took)
		all.Elections += t.Elections
		all.Needless += t.Needless
		all.Watched += t.Watched
	}
	slices.Sort(took)
	return figures{
		median: took[len(took)/2], p99: took[len(took)*99/100],
		elections: float64(all.Elections) / float64(runs), needless: float64(all.Needless) / all.Watched.Hours(),
	}, nil
}

// seedTicks makes etcd/raft draw its numbers of ticks from a seed. It uses crypto/rand, and has no
// option for that.
func seedTicks(seed uint64) {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	crand.Reader = rand.NewChaCha8(key)
}
