// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// addTwin adds an index Counter_Name to the header of the counters, beside that with the
// name Counter_Name_unique in keys, as a program does that has made the index not unique.
func addTwin(t *testing.T, db *persistable.DB) {
	t.Helper()
	changeHeader(t, db, func(c *format.Catalog) {
		for _, ix := range c.Indexes() {
			d := must[index.Definition](t)(index.ParseLayout(ix.KeyName, ix.Layout))
			if d.Name == "Counter_Name" && d.Unique {
				d.Unique = false
				c.SetState(&d, index.Readable)
			}
		}
	})
}

// changeHeader changes the header of the counters.
func changeHeader(t *testing.T, db *persistable.DB, change func(*format.Catalog)) {
	t.Helper()
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		prefix := prefixOf(t, db, "counters")
		found := must[[]headers.Header](t)(headers.Read(ctx, tx, prefix))
		c := must[*format.Catalog](t)(format.DecodeCatalog(found[0].Value))
		change(c)
		tx.Set(append(prefix, headers.Key("Counter")...), must[[]byte](t)(c.Encode()))
		return nil
	}))
}

// keyNames returns the names in keys of a store's indexes.
func keyNames(t *testing.T, db *persistable.DB, path ...string) (names []string) {
	t.Helper()
	for _, ix := range open(t, db, path...).Schema().Indexes {
		names = append(names, ix.KeyName)
	}
	return names
}

func prefixOf(t *testing.T, db *persistable.DB, path ...string) []byte {
	t.Helper()
	d, err := db.Layer().Open(ctx, db.Engine(), path)
	check(t, err)
	return must[[]byte](t)(d.Prefix())
}

// TestNamesInKeys: of two indexes of one name, that with the name in keys is dropped, and
// built anew.
func TestNamesInKeys(t *testing.T) {
	for dropped, left := range map[string]string{"Counter_Name": "Counter_Name_unique", "Counter_Name_unique": "Counter_Name"} {
		db := seeded(t)
		addTwin(t, db)
		s := open(t, db, "counters")
		for _, name := range []string{left, dropped} {
			check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				index.ClearUnknown(tx, prefixOf(t, db, "counters"), name)
				return nil
			}))
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name"))
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name_unique"))
			sound(t, s.Indexes())
		}
		check(t, s.Drop(ctx, dropped))
		if got := keyNames(t, db, "counters"); !slices.Equal(got, []string{left}) {
			t.Errorf("without %s: %q", dropped, got)
		}
	}
}

// TestDropTakesNamesInKeys: an index by itself is no name for Drop, so that a second drop of
// one leaves the other one of that name.
func TestDropTakesNamesInKeys(t *testing.T) {
	db := seeded(t)
	addTwin(t, db)
	check(t, open(t, db, "counters").Drop(ctx, "Counter_Name"))
	if err := open(t, db, "counters").Drop(ctx, "Counter_Name"); !errors.As(err, new(*persistable.NoIndexError)) {
		t.Errorf("once more: %v", err)
	}
	if got := keyNames(t, db, "counters"); !slices.Equal(got, []string{"Counter_Name_unique"}) {
		t.Errorf("left: %q", got)
	}
}

// TestOneNameOfAnIndex: no verb takes the name without _unique for a unique index, and each takes
// the name that the errors and reports show.
func TestOneNameOfAnIndex(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "counters")
	_, violations := s.Indexes().Violations(ctx, "Counter_Name", "")
	_, byIndex := s.ByIndex("Counter_Name", "visits")
	for verb, err := range map[string]error{"Violations": violations, "ByIndex": byIndex, "Drop": s.Drop(ctx, "Counter_Name"), "Rebuild": s.Indexes().Rebuild(ctx, "Counter_Name")} {
		if err == nil || !strings.Contains(err.Error(), "Counter_Name_unique") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	check(t, s.Drop(ctx, "Counter_Name_unique"))
	check(t, open(t, db, "counters").Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":99,"Name":"visits"}`)))))
	var shared *persistable.NotUniqueError
	if err := s.Indexes().Build(ctx); !errors.As(err, &shared) {
		t.Fatal(err)
	}
	page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, shared.Violations[0].Index, ""))
	must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex(page.Violations[0].Index, "visits"))
	var state *persistable.IndexStateError
	if _, err := must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex("Counter_Name_unique", "visits")).Slice(ctx); !errors.As(err, &state) || state.Index != "Counter_Name_unique" {
		t.Error(err)
	}
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx)); !slices.Equal(r.Skipped, []string{"Counter_Name_unique"}) {
		t.Errorf("skipped: %q", r.Skipped)
	}
}

// TestDropForeign: an index that needs Go code is dropped, too.
func TestDropForeign(t *testing.T) {
	db := seeded(t)
	changeHeader(t, db, func(c *format.Catalog) {
		d := must[index.Definition](t)(index.ParseLayout("Counter_code_unique", "Nowhere:string"))
		c.SetState(&d, index.Readable)
	})
	check(t, open(t, db, "counters").Drop(ctx, "Counter_code_unique"))
	if got := keyNames(t, db, "counters"); slices.Contains(got, "Counter_code_unique") {
		t.Errorf("there is %q", got)
	}
}

// TestDropOfUnknownOutcome: a drop that has committed is no error because its answer was
// lost; one that was not committed is done again.
func TestDropOfUnknownOutcome(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		engine := &enginetest.Lossy{Database: enginetest.Open(t)}
		check(t, bazaar.Seed(ctx, engine))
		db := must[*persistable.DB](t)(persistable.OpenWith(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))
		t.Cleanup(func() { check(t, db.Close()) })
		s := open(t, db, "counters")
		engine.Lose(dropped, nil)
		check(t, s.Drop(ctx, "Counter_Name_unique"))
		if got := keyNames(t, db, "counters"); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	}
}
