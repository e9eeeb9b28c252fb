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

// TestRemoveNoMoreThanShown: a record that fulfils the condition only after the question
// makes the verb remove no more than it has shown.
func TestRemoveNoMoreThanShown(t *testing.T) {
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
	w := whereFlags{where: "Value >= 0", filterLimit: persistable.DefaultFilterLimit}
	first, n, err := w.count(ctx, c, s)
	check(err)
	if n != 3 || len(first) != 3 {
		t.Fatalf("%d records, %v", n, first)
	}
	check(bazaar.CounterStoreOf(db).CreateWithID(ctx, 9, &bazaar.Counter{Name: "late"}))
	check(w.remove(ctx, c, s, n))
	_, left, err := w.count(ctx, c, s)
	check(err)
	if left != 1 || out.String() != "3 records removed\n" {
		t.Errorf("%d are left: %q", left, &out)
	}
}
