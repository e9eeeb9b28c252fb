// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
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

// openRaw opens the medium.
func (f *fixture) openRaw() store.Store {
	f.Helper()
	return f.Open(f.T, f.medium)
}

// openStore opens and initialises the medium.
func (f *fixture) openStore() store.Store {
	f.Helper()
	s := f.openRaw()
	f.check(s.Init(f.Context()))
	return s
}

// check ends the test if there is an error.
func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wantError checks an error.
func (f *fixture) wantError(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("got the error %v, want %v", err, want)
	}
}

// wantRange reserves and checks the range.
func (f *fixture) wantRange(s store.Store, name string, r store.Reservation, from, to int64) store.Range {
	f.Helper()
	got, err := s.Reserve(f.Context(), name, r)
	if err != nil || got.From != from || got.To != to {
		f.Fatalf("%+v of %q: got %+v, %v, want from %d to %d", r, name, got, err, from, to)
	}
	return got
}

// wantSequence checks the state of a sequence.
func (f *fixture) wantSequence(s store.Store, name string, want store.Sequence) {
	f.Helper()
	if got, err := s.Sequence(f.Context(), name); err != nil || got != want {
		f.Errorf("sequence %q: got %+v, %v, want %+v", name, got, err, want)
	}
}

// putDocument stores and checks that the version is greater.
func (f *fixture) putDocument(s store.Store, kind store.Kind, d store.Document) int64 {
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

// endedContext is a context that has ended.
func (f *fixture) endedContext() context.Context {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	return ctx
}

// countWinner counts a caller that won a race.
func (f *fixture) countWinner(won *atomic.Int64, err error) {
	switch {
	case err == nil:
		won.Add(1)
	case !errors.Is(err, store.ErrConflict) && !f.LosesAnswers:
		f.Error(err)
	}
}

// wantOneWinner checks that one caller has won, or at most one if the medium loses answers.
func (f *fixture) wantOneWinner(what string, won *atomic.Int64) {
	f.Helper()
	if n := won.Load(); n > 1 || n == 0 && !f.LosesAnswers {
		f.Errorf("%s: %d callers won", what, n)
	}
}

// wantSameJSON compares objects as JSON.
func (f *fixture) wantSameJSON(got, want []byte) {
	f.Helper()
	decode := func(text []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		f.check(d.Decode(&v))
		return v
	}
	if !reflect.DeepEqual(decode(got), decode(want)) {
		f.Errorf("the value is %.200s, want %.200s", got, want)
	}
}

// getDocument returns a document that must exist.
func (f *fixture) getDocument(s store.Store, kind store.Kind, key string) store.Document {
	f.Helper()
	d, err := s.Get(f.Context(), kind, key)
	if err != nil || d.Key != key {
		f.Fatalf("get %q: got %q, %v", key, d.Key, err)
	}
	return d
}

// checkPages reads all documents in pages.
func (f *fixture) checkPages(s store.Store, r *rand.Rand, model map[string]bool) {
	var all []string
	for {
		o := store.ListOptions{Limit: 1 + r.IntN(9)}
		if len(all) > 0 {
			o.After = all[len(all)-1]
		}
		page, err := s.List(f.Context(), store.Configs, o)
		f.check(err)
		if all = append(all, keysOf(page)...); len(page) < o.Limit {
			break
		}
	}
	if want := listed(model, store.ListOptions{}); !slices.Equal(all, want) {
		f.Errorf("the pages have %q, want %q", all, want)
	}
}

func (f *fixture) startProcess() *process {
	f.Helper()
	p := &process{cmd: f.Process(f.T, f.medium)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	f.check(err)
	p.out = out
	f.check(p.cmd.Start())
	return p
}

// runProcesses runs concurrent processes; killAt returns when to kill each.
func (f *fixture) runProcesses(n int, killAt func(i int) int) (ranges *ledger.Ledger, counts []int64) {
	ranges = &ledger.Ledger{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		p, at := f.startProcess(), killAt(i)
		group.Go(func() {
			lines, err := p.readLines(at)
			if err != nil {
				f.Errorf("process %d: %v", i, err)
			}
			for _, line := range lines {
				if line.Count == 0 {
					ranges.Add(line.Range)
					continue
				}
				mu.Lock()
				counts = append(counts, line.Count)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return ranges, counts
}
