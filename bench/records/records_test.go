// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer"
	"github.com/kazahana-db/kazahana/bench/records/gormpeer"
	"github.com/kazahana-db/kazahana/bench/records/holdpeer"
	"github.com/kazahana-db/kazahana/bench/records/pebblepeer"
	"github.com/kazahana-db/kazahana/bench/records/sqlite"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// openLibrary opens a library, the same store each time.
type openLibrary func() (records.Library, error)

// libraries returns all libraries, in all their forms.
func libraries(t *testing.T) map[string]openLibrary {
	dir := t.TempDir()
	all := map[string]openLibrary{
		"kazahana": func() (records.Library, error) {
			engine, err := embedded.Open(filepath.Join(dir, "kazahana"), embedded.Options{})
			if err != nil {
				return nil, err
			}
			return records.Open(t.Context(), engine)
		},
		"pebble": func() (records.Library, error) {
			return pebblepeer.Open(filepath.Join(dir, "pebble"), &pebble.Options{})
		},
	}
	for _, plain := range []bool{false, true} {
		name := fmt.Sprintf("badgerhold, plain: %v", plain)
		all[name] = func() (records.Library, error) { return holdpeer.Open(filepath.Join(dir, name), plain) }
	}
	for _, form := range []sqlite.Form{sqlite.Tuned, sqlite.Plain, sqlite.Native} {
		if form == sqlite.Native && !sqlite.HasNative {
			continue
		}
		all["gorm"+form.String()] = func() (records.Library, error) { return gormpeer.Open(filepath.Join(dir, "gorm"+form.String()), form) }
		all["ent"+form.String()] = func() (records.Library, error) { return entpeer.Open(filepath.Join(dir, "ent"+form.String()), form) }
	}
	return all
}

// TestStoresAnswerAlike checks that all libraries return the same answers, so that contests
// compare the same work.
func TestStoresAnswerAlike(t *testing.T) {
	forEachLibrary(t, 2*records.PerCategory+50, func(t *testing.T, open openLibrary, users []records.User) {
		store := mustOpen(t, open)
		defer mustClose(t, store)
		testStore(t, store, users)
		testLibrary(t, store, users)
	})
}

// TestStoresOpenAgain closes and opens each store before it saves another user, as the contests
// do: the ids of the first ones stay theirs.
func TestStoresOpenAgain(t *testing.T) {
	forEachLibrary(t, 20, func(t *testing.T, open openLibrary, users []records.User) {
		store := mustOpen(t, open)
		ids, err := store.Load(t.Context(), users)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, store)
		store = mustOpen(t, open)
		defer mustClose(t, store)
		if err := store.Save(t.Context(), records.Numbered(len(users))); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			got, err := store.Get(t.Context(), id)
			if err := errors.Join(err, records.Check(got, users[i])); err != nil {
				t.Error(err)
			}
		}
		if n, err := store.Count(t.Context()); n != len(users)+1 || err != nil {
			t.Errorf("%d users, %v, want %d", n, err, len(users)+1)
		}
	})
}

// forEachLibrary runs a test with the first n users for each library.
func forEachLibrary(t *testing.T, n int, test func(t *testing.T, open openLibrary, users []records.User)) {
	var users []records.User
	for i := range n {
		users = append(users, records.Numbered(i))
	}
	for name, open := range libraries(t) {
		t.Run(name, func(t *testing.T) { test(t, open, users) })
	}
}

func mustOpen(t *testing.T, open openLibrary) records.Library {
	t.Helper()
	store, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func mustClose(t *testing.T, store records.Library) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func testStore(t *testing.T, store records.Store, users []records.User) {
	ctx := t.Context()
	ids, err := store.Load(ctx, users)
	if err != nil || len(ids) != len(users) {
		t.Fatalf("loaded %d users, %v", len(ids), err)
	}
	extra := records.Numbered(len(users))
	if err := store.Save(ctx, extra); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(ctx, extra); err == nil {
		t.Error("an address was saved twice")
	}
	if n, err := store.Count(ctx); n != len(users)+1 || err != nil {
		t.Errorf("%d users, %v, want %d", n, err, len(users)+1)
	}
	for _, i := range []int{0, 1, 77, len(users) - 1} {
		got, err := store.Get(ctx, ids[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := records.Check(got, users[i]); err != nil {
			t.Error(err)
		}
	}
	if got, err := store.ByEmail(ctx, extra.Email); err != nil || records.Check(got, extra) != nil {
		t.Errorf("by address: %v, %v", got, err)
	}
	if _, err := store.ByEmail(ctx, "nobody@example.com"); err == nil {
		t.Error("found nobody")
	}
	listed, err := store.ByCategory(ctx, records.Category(1), 10)
	if err != nil || len(listed) != 10 {
		t.Fatalf("%d of 10 users, %v", len(listed), err)
	}
	for i, got := range listed {
		if err := records.Check(got, users[records.PerCategory+i]); err != nil {
			t.Error(err)
		}
	}
}

// testLibrary tests a store with the users that testStore has left there.
func testLibrary(t *testing.T, store records.Library, users []records.User) {
	ctx := t.Context()
	if n, err := store.CountCategory(ctx, records.Category(1)); n != records.PerCategory || err != nil {
		t.Errorf("%d users of a category, %v, want %d", n, err, records.PerCategory)
	}
	page, err := store.Page(ctx, 1)
	if err != nil || len(page) != records.PerCategory {
		t.Fatalf("a page of %d users, %v", len(page), err)
	}
	for i, got := range page {
		if err := records.Check(got, users[records.PerCategory+i]); err != nil {
			t.Error(err)
		}
	}
	testUpdate(t, store, users)
	testPlayers(t, store)
}

// testUpdate changes the name of a user that is not among those of the store.
func testUpdate(t *testing.T, store records.Library, users []records.User) {
	ctx := t.Context()
	other := records.Numbered(len(users) + 1)
	ids, err := store.Load(ctx, []records.User{other})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Update(ctx, ids[0], "Another Name"); err != nil {
		t.Fatal(err)
	}
	other.Name = "Another Name"
	if got, err := store.Get(ctx, ids[0]); err != nil || records.Check(got, other) != nil {
		t.Errorf("after an update: %v, %v, want %v", got, err, other)
	}
}

func testPlayers(t *testing.T, store records.Library) {
	ctx := t.Context()
	const loaded = 1000
	players := records.NumberedPlayers(loaded)
	if err := store.LoadPlayers(ctx, players); err != nil {
		t.Fatal(err)
	}
	rows, err := store.Team(ctx, records.Team(3), 10)
	if err != nil || len(rows) != 10 {
		t.Fatalf("%d of 10 players, %v", len(rows), err)
	}
	for i, got := range rows {
		if err := got.Check(players[3*records.PerCategory+i].Row); err != nil {
			t.Error(err)
		}
	}
	if n, err := store.CountCountry(ctx, records.Country(3)); n != loaded/records.Countries || err != nil {
		t.Errorf("%d players of a country, %v, want %d", n, err, loaded/records.Countries)
	}
	for _, n := range []int{0, 1, 500, loaded - 1} {
		p, err := store.Nth(ctx, n)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil || p.Score != int64(n) || p.Country == "" {
			t.Errorf("the player with %d before it: %v, %v", n, p, err)
		}
	}
}
