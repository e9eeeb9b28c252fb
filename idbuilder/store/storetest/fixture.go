// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// fixture is one test on a medium of its own.
type fixture struct {
	*testing.T
	Suite
	medium string
}

func newFixture(t *testing.T, s Suite, law string) *fixture {
	small := func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}
	return &fixture{T: t, Suite: s, medium: strings.Map(small, law)}
}

// raw opens the medium.
func (f *fixture) raw() store.Store {
	f.Helper()
	return f.Open(f.T, f.medium)
}

// store opens and initialises the medium.
func (f *fixture) store() store.Store {
	f.Helper()
	s := f.raw()
	f.no(s.Init(f.Context()))
	return s
}

// no ends the test if there is an error.
func (f *fixture) no(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is checks an error.
func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("got the error %v, want %v", err, want)
	}
}

// reserve reserves and checks the range.
func (f *fixture) reserve(s store.Store, name string, r store.Reservation, from, to int64) store.Range {
	f.Helper()
	got, err := s.Reserve(f.Context(), name, r)
	if err != nil || got.From != from || got.To != to {
		f.Fatalf("%+v of %q: got %+v, %v, want from %d to %d", r, name, got, err, from, to)
	}
	return got
}

// sequence checks the state of a sequence.
func (f *fixture) sequence(s store.Store, name string, want store.Sequence) {
	f.Helper()
	if got, err := s.Sequence(f.Context(), name); err != nil || got != want {
		f.Errorf("sequence %q: got %+v, %v, want %+v", name, got, err, want)
	}
}

// put stores and checks that the version is greater.
func (f *fixture) put(s store.Store, kind store.Kind, d store.Document) int64 {
	f.Helper()
	version, err := s.Put(f.Context(), kind, d)
	if err != nil || version <= d.Version {
		f.Fatalf("put %q with version %d: got version %d, %v", d.Key, d.Version, version, err)
	}
	return version
}

// up is a reservation without a bound.
func up(start, step, count int64) store.Reservation {
	bound := int64(math.MaxInt64)
	if step < 0 {
		bound = math.MinInt64
	}
	return store.Reservation{Start: start, Step: step, Count: count, Bound: bound}
}

// seedVariable is the environment variable that repeats a run.
const seedVariable = "KAZAHANA_SEED"

// random returns numbers of a seed that the log tells.
func (f *fixture) random() *rand.Rand {
	f.Helper()
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	f.Logf("%s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// ended is a context that has ended.
func (f *fixture) ended() context.Context {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	return ctx
}
