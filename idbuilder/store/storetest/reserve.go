// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// testReserve checks ranges, their start and step, and that versions grow.
func testReserve(f *fixture) {
	s := f.openStore()
	if _, err := s.Sequence(f.Context(), "orders"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("a sequence that does not exist: %v, want ErrNotFound", err)
	}
	first := f.wantRange(s, "orders", up(1000, 1, 10), 1000, 1010)
	if first.Version < 1 {
		f.Errorf("the first version is %d", first.Version)
	}
	second := f.wantRange(s, "orders", up(7, 1, 5), 1010, 1015) // only a new sequence uses the start
	third := f.wantRange(s, "orders", up(7, 3, 2), 1015, 1021)
	if first.Version >= second.Version || second.Version >= third.Version {
		f.Errorf("the versions are %d, %d, %d", first.Version, second.Version, third.Version)
	}
	other := f.openRaw()
	f.wantSequence(other, "orders", store.Sequence{Value: 1021, Version: third.Version})
	f.wantRange(other, "orders", up(0, 1, 1), 1021, 1022)
	f.wantRange(s, "orders", up(0, 1, 1), 1022, 1023)
	f.wantRange(s, "others", up(0, 1, 1), 0, 1)
}

// testReserveDown checks sequences that descend, and that change their direction.
func testReserveDown(f *fixture) {
	s := f.openStore()
	f.wantRange(s, "down", up(3, -1, 5), 3, -2)
	f.wantRange(s, "down", up(0, -10, 2), -2, -22)
	f.wantRange(s, "down", up(0, 4, 2), -22, -14)
}

// testReserveEnds checks bounds, even those of int64: near a bound there are fewer numbers,
// at it none, and the sequence does not change.
func testReserveEnds(f *fixture) {
	s := f.openStore()
	exhausted := func(name string, r store.Reservation, want store.Sequence) {
		f.Helper()
		got, err := s.Reserve(f.Context(), name, r)
		if !errors.Is(err, store.ErrExhausted) {
			f.Errorf("%+v of %q: got %+v, %v, want ErrExhausted", r, name, got, err)
		}
		f.wantSequence(s, name, want)
	}
	for _, c := range []struct {
		name                           string
		start, step, bound, to1, count int64
	}{
		{"max", 90, 3, 100, 99, 1000},
		{"exact", 90, 5, 100, 100, 3},
		{"min", -90, -3, -100, -99, 1000},
		{"top", math.MaxInt64 - 10, 4, math.MaxInt64, math.MaxInt64 - 2, math.MaxInt64},
		{"end", math.MaxInt64 - 1, 1, math.MaxInt64, math.MaxInt64, 2},
		{"bottom", math.MinInt64 + 10, -4, math.MinInt64, math.MinInt64 + 2, math.MaxInt64},
		{"all", math.MinInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64},
		{"back", math.MaxInt64, math.MinInt64, math.MinInt64, -1, 5},
	} {
		r := store.Reservation{Start: c.start, Step: c.step, Count: c.count, Bound: c.bound}
		got := f.wantRange(s, c.name, r, c.start, c.to1)
		state := store.Sequence{Value: got.To, Version: got.Version}
		exhausted(c.name, r, state)
		r.Count = 1
		exhausted(c.name, r, state)
		r.Bound, r.Step = got.To, 1
		exhausted(c.name, r, state) // the value is the bound
	}
	none := store.Reservation{Start: 10, Step: 1, Count: 1, Bound: 10}
	if _, err := s.Reserve(f.Context(), "none", none); !errors.Is(err, store.ErrExhausted) {
		f.Errorf("a sequence that begins at its bound: %v", err)
	}
	if got, err := s.Sequence(f.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("it was made though nothing was reserved: %+v, %v", got, err)
	}
	f.wantRange(s, "max", up(0, 3, 1), 99, 102) // with another bound it goes on
}

// testReserveExact checks numbers that a float64 does not have.
func testReserveExact(f *fixture) {
	s := f.openStore()
	for _, c := range []struct {
		name        string
		start, step int64
	}{
		{"above", 1<<53 + 1, 1},
		{"odd", 1<<60 + 3, 7},
		{"below", -1<<53 - 1, -1},
		{"far", math.MaxInt64 - 5_000_001, 3},
		{"long", 0, 1<<53 + 1},
	} {
		from := c.start
		for _, count := range []int64{1, 2, 1, 5, 1, 1} {
			f.wantRange(s, c.name, up(c.start, c.step, count), from, from+c.step*count)
			from += c.step * count
		}
		if got, err := f.openRaw().Sequence(f.Context(), c.name); err != nil || got.Value != from {
			f.Errorf("%s: it is at %d, %v, want %d", c.name, got.Value, err, from)
		}
	}
}

// testReserveRandom compares random reservations with a model.
func testReserveRandom(f *fixture) {
	s, r := f.openStore(), seed.Rand(f)
	number := func() int64 {
		n := r.Int64N(1 << (1 + r.IntN(62)))
		if r.IntN(2) == 0 {
			return -n
		}
		return n
	}
	model := map[string]store.Sequence{}
	for range 120 {
		name := fmt.Sprint("s", r.IntN(6))
		request := store.Reservation{Start: number(), Step: number(), Count: 1 + r.Int64N(1<<r.IntN(62)), Bound: number()}
		if request.Step == 0 {
			continue
		}
		old, known := model[name]
		if !known {
			old.Value = request.Start
		}
		to, want := request.Advance(old.Value)
		got, err := s.Reserve(f.Context(), name, request)
		if !errors.Is(err, want) || want == nil && (err != nil || got.From != old.Value || got.To != to || got.Version <= old.Version) {
			f.Fatalf("%+v of %+v: got %+v, %v, want up to %d, %v", request, old, got, err, to, want)
		}
		if want == nil {
			model[name] = store.Sequence{Value: to, Version: got.Version}
		}
	}
	for name, want := range model {
		f.wantSequence(s, name, want)
	}
}

// testIllegal checks that arguments are refused before anything happens.
func testIllegal(f *fixture) {
	s := f.openStore()
	refused := func(what string, err error) {
		f.Helper()
		for _, state := range []error{nil, store.ErrNotFound, store.ErrConflict, store.ErrExhausted, store.ErrClosed} {
			if errors.Is(err, state) {
				f.Errorf("%s: got %v", what, err)
			}
		}
	}
	for _, r := range []store.Reservation{{Count: 1, Bound: 9}, {Step: 1, Bound: 9}, {Step: 1, Count: -1, Bound: 9}} {
		_, err := s.Reserve(f.Context(), "a", r)
		refused(fmt.Sprintf("%+v", r), err)
	}
	for _, name := range []string{"", strings.Repeat("x", 256), "a\x00b", "tab\t", "\xff\xfe", "a\u0085"} {
		_, err := s.Reserve(f.Context(), name, up(0, 1, 1))
		refused("reserve", err)
		_, err = s.Sequence(f.Context(), name)
		refused("sequence", err)
		refused("set sequence", s.SetSequence(f.Context(), name, 1, 0))
		_, err = s.DeleteSequence(f.Context(), name)
		refused("delete sequence", err)
		_, err = s.Get(f.Context(), store.Configs, name)
		refused("get", err)
		_, err = s.Put(f.Context(), store.Configs, store.Document{Key: name, Value: []byte(`{}`)})
		refused("put", err)
		refused("delete", s.Delete(f.Context(), store.Configs, name, 1))
	}
	for _, kind := range []store.Kind{"", "Config", "a b", "../x", store.Kind(strings.Repeat("k", 33))} {
		_, err := s.Get(f.Context(), kind, "a")
		refused("get of a kind", err)
		_, err = s.Put(f.Context(), kind, store.Document{Key: "a", Value: []byte(`{}`)})
		refused("put of a kind", err)
		_, err = s.List(f.Context(), kind, store.ListOptions{})
		refused("list of a kind", err)
		refused("delete of a kind", s.Delete(f.Context(), kind, "a", 1))
	}
	for _, d := range []store.Document{
		{Key: "a"},
		{Key: "a", Value: []byte(`[]`)},
		{Key: "a", Value: []byte(`{"a":1} x`)},
		{Key: "a", Value: []byte(`{"a":"` + strings.Repeat("x", store.MaxValue) + `"}`)},
		{Key: "a", Value: []byte(`{}`), Version: -1},
		{Key: "a", Value: []byte(`{}`), Type: strings.Repeat("t", 51)},
	} {
		_, err := s.Put(f.Context(), store.Configs, d)
		refused("put", err)
	}
}

// names are different names that some systems treat as equal.
var names = []string{
	"orders", "Orders", "ORDERS", "orders ", " orders", "orders.", ".orders", "..", ".", "a/b", "a", "a/../b", `a\b`, "orders.json", "orders.lock",
	"a:b", "a::b", "a%2fb", "a%2Fb", "%", "%%", "*", "?", "[a]", "{a}", "a{b}c", "}{", "'", `"`, "`", ";--", "#2:2026-11-22", "orders#2:2026-11-22",
	"é", "e\u0301", "Straße", "STRASSE", "日本語", "🦦", "ı", "I", "i", "İ", "~", "$HOME", "-rf", "con", "nul", "_", "__", "version", "schema", "schema:version",
	strings.Repeat("x", 255), strings.Repeat("x", 254), strings.Repeat("é", 127), strings.Repeat("É", 127), strings.Repeat("X", 255), strings.Repeat("%", 255),
}

// testNames checks that each name is a sequence of its own.
func testNames(f *fixture) {
	s := f.openStore()
	for i, name := range names {
		f.wantRange(s, name, up(int64(i)*1000, 1, 1), int64(i)*1000, int64(i)*1000+1)
	}
	s = f.openRaw()
	for i, name := range names {
		f.wantRange(s, name, up(0, 1, 1), int64(i)*1000+1, int64(i)*1000+2)
	}
}

// testSetSequence checks the comparison of versions.
func testSetSequence(f *fixture) {
	s := f.openStore()
	f.wantError(s.SetSequence(f.Context(), "a", 5, 1), store.ErrConflict)
	if _, err := s.Sequence(f.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("after a conflict: %v", err)
	}
	f.check(s.SetSequence(f.Context(), "a", math.MinInt64, 0))
	f.wantError(s.SetSequence(f.Context(), "a", 7, 0), store.ErrConflict)
	first, err := s.Sequence(f.Context(), "a")
	if err != nil || first.Value != math.MinInt64 || first.Version < 1 {
		f.Fatalf("got %+v, %v", first, err)
	}
	f.check(s.SetSequence(f.Context(), "a", 1<<53+1, first.Version))
	f.wantError(s.SetSequence(f.Context(), "a", 8, first.Version), store.ErrConflict)
	got := f.wantRange(s, "a", up(0, 2, 1), 1<<53+1, 1<<53+3)
	if got.Version <= first.Version+1 {
		f.Errorf("the version went from %d to %d in two changes", first.Version, got.Version)
	}
	f.wantError(s.SetSequence(f.Context(), "a", 9, got.Version-1), store.ErrConflict)
	f.check(s.SetSequence(f.Context(), "a", -9, got.Version)) // backwards, too
	f.wantRange(s, "a", up(0, -1, 1), -9, -10)
}

// testSetSequenceRace lets one of many callers win, among reservations.
func testSetSequenceRace(f *fixture) {
	stores := []store.Store{f.openStore(), f.openRaw()}
	for round := range 3 {
		old, err := stores[0].Sequence(f.Context(), "a")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		var won atomic.Int64
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				err := stores[i%2].SetSequence(f.Context(), "a", int64(1000*round+i), old.Version)
				f.countWinner(&won, err)
			})
		}
		group.Wait()
		f.wantOneWinner(fmt.Sprint("round ", round), &won)
	}
}

// testDeleteSequence removes a sequence that others have used: it begins anew, and no other
// sequence changes.
func testDeleteSequence(f *fixture) {
	s, other := f.openStore(), f.openRaw()
	remove := func(s store.Store, name string, want bool) {
		f.Helper()
		found, err := s.DeleteSequence(f.Context(), name)
		if err != nil || found != want && !f.LosesAnswers {
			f.Errorf("delete %q: %v, %v, want %v", name, found, err, want)
		}
		if q, err := s.Sequence(f.Context(), name); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("after its removal: %+v, %v", q, err)
		}
	}
	again := up(0, 1, 10)
	again.Removable = true
	names := []string{"a", "a#0", "a#0:2026-11-22", "a#0:2026-11-2", "A#0:2026-11-22", "a#0:2026-11-22 "}
	for i, name := range names {
		f.wantRange(s, name, up(int64(100*i), 1, 5), int64(100*i), int64(100*i+5))
	}
	last := f.wantRange(other, names[2], again, 205, 215)
	remove(other, names[2], true)
	remove(other, names[2], false)
	remove(other, "never made", false)
	got, err := s.Reserve(f.Context(), names[2], again)
	if err == nil && got.From != 0 || err != nil && !errors.Is(err, store.ErrLost) {
		f.Errorf("after another store has removed it: %+v, %v", got, err)
	}
	remove(s, names[2], err == nil)
	f.wantError(other.SetSequence(f.Context(), names[2], 7, last.Version), store.ErrConflict)
	f.wantRange(s, names[2], again, 0, 10)
	f.wantRange(f.openRaw(), names[2], again, 10, 20)
	for i, name := range names {
		if i != 2 {
			f.wantRange(other, name, up(0, 1, 1), int64(100*i+5), int64(100*i+6))
		}
	}
}
