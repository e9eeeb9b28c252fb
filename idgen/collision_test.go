// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// collisionLayout leaves 2^13 random numbers instead of 2^21, so that
// collisions are frequent enough to measure.
var collisionLayout = Layout{CustomEpoch: DefaultCustomEpoch, ReserveBits: 9, TimestampBits: 41, MachineBits: 6, SequenceBits: 8}

const (
	collisionNumbers = 1 << 13
	collisionPerMs   = 64
	collisionRounds  = 50_000
)

// TestRandomFallbackCollidesAsPublished compares the formula in the comment of
// Client with two clients that make 64 IDs each in the same millisecond.
func TestRandomFallbackCollidesAsPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts in many rounds; other tests share a generator between goroutines")
	}
	rng := seed.Rand(t)
	const k, n, rounds = float64(collisionPerMs), float64(collisionNumbers), float64(collisionRounds)

	bad, equal := countCollisions(t, rng.Uint64)
	p := ((2*k-1)*n - k*(k-1)) / (n * n)
	if z := deviations(bad, p); math.Abs(z) > 5 {
		t.Errorf("%d of %d milliseconds have a collision, want about %.0f: %.1f standard deviations off", bad, collisionRounds, p*rounds, z)
	}
	// One shared run of numbers is 1–64 IDs long, so the count of equal IDs
	// scatters by about sqrt(2k³/3n) in a millisecond.
	mean, deviation := k*k/n*rounds, math.Sqrt(2*k*k*k/(3*n)*rounds)
	if z := (float64(equal) - mean) / deviation; math.Abs(z) > 5 {
		t.Errorf("%d equal IDs, want about %.0f: %.1f standard deviations off", equal, mean, z)
	}

	// The measurement notices a client that uses half of its numbers.
	bad, _ = countCollisions(t, func() uint64 { return rng.Uint64() >> 1 & (collisionNumbers/2 - 1) })
	if z := deviations(bad, p); z < 5 {
		t.Errorf("half the randomness gives %d collisions, only %.1f standard deviations off: the test is blind", bad, z)
	}
}

// TestManagedFallbackCollidesAsPublished is the same for managed clients, which
// draw from a quarter of the numbers.
func TestManagedFallbackCollidesAsPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts in many rounds; other tests share a generator between goroutines")
	}
	rng := seed.Rand(t)
	const k, n = float64(collisionPerMs), float64(collisionNumbers / 4)
	p := ((2*k-1)*n - k*(k-1)) / (n * n)
	layout := collisionLayout
	bad, _ := countCollisionsOf(t, func(now func() time.Time) *Client {
		c := Must(newClient(Options{Layout: layout, Now: now, Provider: newGrantor(now), Logger: quiet}, rng.Uint64))
		c.changeEra(c.randomEra(0, forever))
		return c
	})
	if z := deviations(bad, p); math.Abs(z) > 5 {
		t.Errorf("%d of %d milliseconds have a collision, want about %.0f: %.1f standard deviations off", bad, collisionRounds, p*collisionRounds, z)
	}
}

// deviations is how far bad is from the mean of a binomial distribution.
func deviations(bad int, p float64) float64 {
	return (float64(bad) - p*collisionRounds) / math.Sqrt(p*(1-p)*collisionRounds)
}

// countCollisions lets two clients make IDs under one clock. It returns in how
// many rounds they shared an ID and how many IDs they shared.
func countCollisions(t *testing.T, random func() uint64) (bad, equal int) {
	return countCollisionsOf(t, func(now func() time.Time) *Client {
		return Must(newClient(Options{Layout: collisionLayout, Now: now}, random))
	})
}

func countCollisionsOf(t *testing.T, client func(now func() time.Time) *Client) (bad, equal int) {
	k := &roundClock{}
	a, b := client(k.now), client(k.now)
	for range collisionRounds {
		k.round++
		seen := make(map[ID]bool, collisionPerMs)
		for _, id := range k.makeIDs(t, a) {
			seen[id] = true
		}
		before := equal
		for _, id := range k.makeIDs(t, b) {
			if seen[id] {
				equal++
			}
		}
		if equal > before {
			bad++
		}
	}
	return bad, equal
}

// roundClock stands still for a round, except that it goes on by a millisecond
// for a client that has read it more often than its IDs need: the numbers of
// the millisecond have ended.
type roundClock struct {
	round int64
	reads int64
}

func (k *roundClock) now() time.Time {
	k.reads++
	return time.UnixMilli(DefaultCustomEpoch + 100*k.round + k.reads/(2*collisionPerMs))
}

func (k *roundClock) makeIDs(t *testing.T, c *Client) []ID {
	k.reads = 0
	ids := make([]ID, collisionPerMs)
	for i := range ids {
		id, err := c.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
	}
	return ids
}
