// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestBuildWhatWasShown: an index that is gone when the question is answered is not built,
// nor is another one of that name by itself.
func TestBuildWhatWasShown(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine := enginetest.Open(t)
	check(bazaar.Seed(t.Context(), engine))
	db, err := persistable.OpenWith(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(err)
	defer db.Close()
	s, err := dynamic.Open(t.Context(), db, []string{"counters"}, "")
	check(err)
	store := &target{s, s.Path(), s.Schema()}
	if ix, err := store.find("Counter_Name"); err == nil {
		t.Fatalf("the name without _unique finds %+v", ix)
	}
	c := shell.NewConsole("kazahana", nil, shell.Streams{Out: t.Output(), Err: t.Output()})
	err = build(t.Context(), c, store, "Counter_Name", persistable.BuildOptions{Workers: 1, Share: 1})
	if coded, ok := errors.AsType[*shell.ExitError](err); !ok || coded.Code != 4 {
		t.Errorf("the index that is gone: %v", err)
	}
	check(build(t.Context(), c, store, "Counter_Name_unique", persistable.BuildOptions{Workers: 1, Share: 1}))
}
