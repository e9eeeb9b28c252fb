// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// TestAdvance compares reservations with arithmetic of any size.
func TestAdvance(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-20, 20), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}))
	rapid.Check(t, func(rt *rapid.T) {
		r := store.Reservation{
			Step: number.Filter(func(n int64) bool { return n != 0 }).Draw(rt, "step"), Bound: number.Draw(rt, "bound"),
			Count: rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, math.MaxInt64)).Draw(rt, "count"),
		}
		from := number.Draw(rt, "from")
		step, room := big.NewInt(r.Step), new(big.Int).Sub(big.NewInt(r.Bound), big.NewInt(from))
		steps := new(big.Int).Quo(room, step) // truncates towards 0; negative or 0: nothing fits
		if n := big.NewInt(r.Count); steps.Cmp(n) > 0 {
			steps = n
		}
		to, err := r.Advance(from)
		if steps.Sign() <= 0 {
			if !errors.Is(err, store.ErrExhausted) || to != from {
				rt.Fatalf("%+v from %d: %d, %v, though nothing fits", r, from, to, err)
			}
			return
		}
		want := new(big.Int).Add(big.NewInt(from), new(big.Int).Mul(steps, step))
		if err != nil || !want.IsInt64() || want.Int64() != to {
			rt.Fatalf("%+v from %d: %d, %v, want %v", r, from, to, err, want)
		}
		if n := (store.Range{From: from, To: to}).Steps(r.Step); n != steps.Int64() {
			rt.Fatalf("%+v from %d to %d: %d steps, want %v", r, from, to, n, steps)
		}
	})
}
