// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// TestOnePool: one pool, with any size of batches, gives the same numbers as a plain counter, up
// to the last one before the bound.
func TestOnePool(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		p, err := sequence.New(newFakeStore(), drawOptions(rt))
		if err != nil {
			rt.Fatal(err)
		}
		defer p.Close(t.Context())
		s, err := p.Sequence("a", spec)
		if err != nil {
			rt.Fatal(err)
		}
		last := spec.Start
		for range rapid.IntRange(1, 60).Draw(rt, "requests") {
			r := drawRequest(rt, spec)
			ids, err := s.Take(t.Context(), nil, r)
			if !fits(spec, last, r) {
				if !errors.Is(err, store.ErrExhausted) {
					rt.Fatalf("%+v after %d does not fit: %v, %v", r, last, ids, err)
				}
				continue
			}
			if err != nil {
				rt.Fatalf("%+v after %d: %v", r, last, err)
			}
			if len(ids) != r.Count {
				rt.Fatalf("%d numbers for %+v", len(ids), r)
			}
			checkSpacing(rt, spec, append([]int64{last}, ids...), r)
			last = ids[len(ids)-1]
			if state := s.State(); !state.Given || state.Last != last {
				rt.Fatalf("the last number is %d, the state %+v", last, state)
			}
		}
	})
}

func drawOptions(rt *rapid.T) sequence.Options {
	return sequence.Options{
		BatchSize:         rapid.Int64Range(1, 30).Draw(rt, "batch"),
		PrefetchThreshold: rapid.SampledFrom([]float64{0.01, 0.2, 0.9}).Draw(rt, "threshold"),
	}
}

func drawSpec(rt *rapid.T) sequence.Spec {
	spec := sequence.Spec{
		Start: rapid.Int64Range(-50, 50).Draw(rt, "start"),
		Step:  rapid.Int64Range(1, 7).Draw(rt, "step"),
	}
	room := rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(0, 3000)).Draw(rt, "room")
	if rapid.Bool().Draw(rt, "down") {
		spec.Step, room = -spec.Step, -room
	}
	spec.Bound = spec.Start + room
	return spec
}

func drawRequest(rt *rapid.T, spec sequence.Spec) sequence.Request {
	r := sequence.Request{Count: rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 60)).Draw(rt, "count"), Random: rapid.Bool().Draw(rt, "random")}
	r.Delta = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 9)).Draw(rt, "delta")
	if spec.Step < 0 {
		r.Delta = -r.Delta
	}
	return r
}

func deltaOf(spec sequence.Spec, r sequence.Request) int64 {
	if r.Delta == 0 {
		return spec.Step
	}
	return r.Delta
}

func fits(spec sequence.Spec, last int64, r sequence.Request) bool {
	delta := deltaOf(spec, r)
	if r.Random {
		delta /= abs(delta)
	}
	return abs(spec.Bound-last) >= abs(delta)*int64(r.Count)
}

// checkSpacing checks the distances of an answer's numbers, and perhaps from the number before.
func checkSpacing(rt *rapid.T, spec sequence.Spec, ids []int64, r sequence.Request) {
	delta := deltaOf(spec, r)
	for i, id := range ids {
		if abs(id-spec.Start) > abs(spec.Bound-spec.Start) {
			rt.Fatalf("%d is beyond the bound of %+v", id, spec)
		}
		if i == 0 {
			continue
		}
		d := id - ids[i-1]
		if r.Random && (d*delta <= 0 || abs(d) > abs(delta)) || !r.Random && d != delta {
			rt.Fatalf("%d after %d for %+v", id, ids[i-1], r)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }
