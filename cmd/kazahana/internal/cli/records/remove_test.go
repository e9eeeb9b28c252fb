// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestRemoveWhatWasShown: the verb removes the records that it has counted, also one that does
// not fulfil the condition any more, and not one that fulfils it only after the question, even
// if that one comes first.
func TestRemoveWhatWasShown(t *testing.T) {
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine := enginetest.Open(t)
	check(bazaar.Seed(ctx, engine))
	db, err := persistable.OpenWith(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(err)
	defer db.Close()
	s, err := dynamic.Open(ctx, db, []string{"counters"}, "")
	check(err)
	var out bytes.Buffer
	c := &shell.Console{Streams: shell.Streams{Out: &out, Err: &out}}
	w := whereFlags{where: "Value >= 1", filterLimit: persistable.DefaultFilterLimit}
	ids, err := w.find(ctx, c, s)
	check(err)
	if len(ids) != 3 {
		t.Fatalf("%v", ids)
	}
	counters := bazaar.CounterStoreOf(db)
	check(counters.CreateWithID(ctx, -9, &bazaar.Counter{Name: "late", Value: 5}))
	check(counters.SaveExisting(ctx, &bazaar.Counter{ID: 2, Name: "orders"}))
	check(remove(ctx, c, s, ids))
	left, err := s.Scan().Slice(ctx)
	check(err)
	if len(left) != 1 || left[0].ID().String() != "-9" || out.String() != "3 records removed\n" {
		t.Errorf("%v are left: %q", left, &out)
	}
}
