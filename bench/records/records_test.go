// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"path/filepath"
	"testing"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer"
	"github.com/kazahana-db/kazahana/bench/records/gormpeer"
	"github.com/kazahana-db/kazahana/bench/records/holdpeer"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// stores are all libraries, in all their forms.
func stores(t *testing.T) map[string]records.Store {
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	generated, err := records.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]records.Store{"kazahana": generated}
	for name, open := range map[string]func(file string, plain bool) (records.Store, error){
		"gorm": gormpeer.Open, "ent": entpeer.Open, "badgerhold": holdpeer.Open,
	} {
		for form, plain := range map[string]bool{" plain": true, " tuned": false} {
			if all[name+form], err = open(filepath.Join(t.TempDir(), name), plain); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// TestStoresAnswerAlike checks that all libraries return the same answers, so that contests
// compare the same work.
func TestStoresAnswerAlike(t *testing.T) {
	const loaded = 2*records.PerCategory + 50
	var users []records.User
	for i := range loaded {
		users = append(users, records.Numbered(i))
	}
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			testStore(t, store, users)
		})
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
