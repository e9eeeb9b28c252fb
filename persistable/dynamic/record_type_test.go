// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// numbers returns the numbers of the orders that a query yields.
func numbers(t *testing.T, q *persistable.Query[*dynamic.Record]) string {
	t.Helper()
	var all []string
	for r, err := range q.All(ctx) {
		check(t, err)
		var v struct{ Number string }
		check(t, json.Unmarshal(must[[]byte](t)(json.Marshal(r)), &v))
		all = append(all, strings.TrimPrefix(v.Number, "A-10"))
	}
	return strings.Join(all, " ")
}

// TestWhere: conditions of all kinds of fields, with an index and without.
func TestWhere(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	for where, want := range map[string]string{
		`ID = 72623859790382858`: "03", `ID > 72623859790382877`: "23 24", `ID <= 72623859790382860 and Took = 1m30s`: "01 04",
		`Status = 2 and ID >= 72623859790382876`: "24 21",
	} {
		q := must[*persistable.Query[*dynamic.Record]](t)(s.Find(must[persistable.Condition[*dynamic.Record]](t)(s.Where(where))))
		if got := numbers(t, q); got != want {
			t.Errorf("%s: %s, want %s", where, got, want)
		}
	}
	for _, c := range []struct{ where, want string }{
		{`Status = 1 and CreatedAt >= 2026-03-01T20:00:00Z and CreatedAt<2026-03-02T03:00:00Z`, "14 17"},
		{`Number = "A-1003"`, "03"},
		{`Number in ("A-1003", 'A-1001')`, "01 03"},
		{`Country = "FR" and Amount > 10000`, "14 18 22"},
		{`Country = "FR" AND (Amount <= -200 OR Amount = 24700.)`, ""},
		{`Editor = null and Country = "IT" and Status = 2`, "03 15"},
		{`Editor != null and Editor < "b"`, "07 16 01 10 19"},
		{`Editor < "b"`, "07 16 01 10 19"},
		{`Tags = "batch-1"`, "07 10"},
		{`Address.City = "Roma" and Status != 1`, "03 07 15 19"},
		{`Billing.City = "Paris" and Amount < 1000`, "01 04"},
		{`PaidAt > 2026-03-02T05:00:00Z`, "22"},
		{`Took = 1m30s and Rate >= 2.25`, "19 22"},
		{`Done = true and Units in (0, 3, 4)`, "01 04"},
		{`Photo = "AAEC/w==" and Hash = "yv4AAw=="`, "04"},
		{`Key = 019ca8a0-3ee7-0000-0000-000000000067`, "04"},
		{`ID = 72623859790382858`, "03"},
		{`Amount != -300 and Units <= 2`, "02 03"},
		{`Number prefix "A-100"`, "01 02 03 04 05 06 07 08 09"},
		{`Number PREFIX 'A-102' and Status != 9`, "20 21 22 23 24"},
		{`Tags prefix "batch-1" and Number < "A-1009"`, "07"},
		{`Photo prefix "AAEC/w==" and Number < "A-1008"`, "01 04 07"},
	} {
		condition, err := s.Where(c.where)
		if strings.Contains(c.where, "24700.") {
			if err == nil {
				t.Errorf("%s is not an integer", c.where)
			}
			continue
		}
		check(t, err)
		q := must[*persistable.Query[*dynamic.Record]](t)(s.AllowScan().Find(condition))
		if got := numbers(t, q); got != c.want {
			t.Errorf("%s: %s, want %s", c.where, got, c.want)
		}
	}
	for where, remedy := range map[string]string{"Took = 1s": `persist:"Took"`, "Took = 1s or Took = 2s and ID > 5": `persist:"Took"`, "ID in (5, 6)": "GetMany"} {
		_, err := s.Find(must[persistable.Condition[*dynamic.Record]](t)(s.Where(where)))
		if !errors.Is(err, persistable.ErrNoIndex) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestWhereRefuses: a text that is not a condition is an error that says where and what.
func TestWhereRefuses(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	for text, want := range map[string]string{
		``:                         "at character 1: a field is wanted",
		`Status`:                   "the field Status must be followed by one of",
		`Status == 1`:              "one of =",
		`Status =`:                 "a value is wanted",
		`Status = 1 Done = true`:   `at character 12: "Done" is too much`,
		`(Status = 1`:              ") is wanted",
		`Status in 1`:              "( is wanted",
		`Stats = 1`:                "did you mean Status?",
		`Number = A-1`:             `write "A-1" in quotes`,
		`Number = "A`:              "the double quote is not closed",
		`Number = 'A`:              "the single quote is not closed",
		`Status = x`:               "an integer",
		`Status = null`:            "it cannot be null",
		`Editor < null`:            "by = and != only",
		`Lines.Price = 1`:          "holds no single field",
		`Address = 1`:              "name a field in it",
		`Notes = "x"`:              "no single value",
		`Tags != "x"`:              "it is a list",
		`Status prefix 1`:          "only a text or bytes have a prefix",
		`Editor prefix null`:       "by = and != only",
		strings.Repeat("(", 200):   "nested more than 100 deep",
		`Köln = 1 and Numbr = "x"`: `no field "Köln"`,
	} {
		_, err := s.Where(text)
		if !errors.Is(err, dynamic.ErrWhere) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestUnequal: many !=, of which an index serves those on one field, and nulls.
func TestUnequal(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	find := func(where string) *persistable.Query[*dynamic.Record] {
		c := must[persistable.Condition[*dynamic.Record]](t)(s.Where(where))
		return must[*persistable.Query[*dynamic.Record]](t)(s.AllowScan().Find(c))
	}
	for _, c := range []struct {
		where, form string
		ranges      int
	}{
		{`Status = 1 and Amount != 1 and Amount != 2 and Amount != 3 and Units != 7 and Units != 8 and Units != 9 and Number != "a" and Number != "b" and Number != "c"`, "one range", 1},
		{`Country = "FR" and Amount != 5 and Amount != 9`, "lanes, merged", 3},
		{`Status != 1 and Status != 2`, "lanes, merged", 3},
		{`Editor != "ada"`, "lanes, merged", 2},
		{`Units != 3 and Rate != 1.5`, "one range", 1},
	} {
		q := find(c.where)
		e := must[*persistable.Explanation](t)(q.Explain(ctx))
		if e.Form != c.form || len(e.Ranges) != c.ranges {
			t.Errorf("%s is read so:\n%v", c.where, e)
		}
		all := find(c.where + " and ID != 0") // no index serves the last one
		same := strings.Fields(numbers(t, q))
		if other := strings.Fields(numbers(t, all)); len(same) != len(other) {
			t.Errorf("%s: %v and %v", c.where, same, other)
		}
	}
	_, err := s.Where(`Number = "` + strings.Repeat("a", 20_000) + `" and`)
	if err == nil || len(err.Error()) > 700 {
		t.Errorf("the error is %.100v", err)
	}
}

// TestByIndex: records in the order of indexes, after leading values.
func TestByIndex(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	for _, c := range []struct {
		index  string
		values []string
		want   string
	}{
		{"Order_Status_CreatedAt", []string{"2"}, "24 21 18 15 12 09 06 03"},
		{"Order_Status_CreatedAt", []string{"2", "2026-03-01T11:00:00.000000005Z"}, "03"},
		{"Order_Number_unique", []string{"A-1002"}, "02"},
		{"Order_Editor", []string{"ada"}, "01 10 19"},
		{"Order_Editor", []string{`"ada"`}, "01 10 19"},
		{"Order_Country_Amount", []string{"FR"}, "02 06 10 14 18 22"},
		{"Order_rank_Status_Amount", []string{"0"}, "01 04 07 10 13 16 19 22"},
		{"Order_Tags", []string{"batch-3"}, "19 22"},
		{"Order_unshipped", nil, "02 05 08 11 14 17 20 23"},
	} {
		if got := numbers(t, must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex(c.index, c.values...))); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.index, c.values, got, c.want)
		}
	}
	if q := must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex("Order_Editor", "null")); must[int](t)(q.Count(ctx)) != 16 {
		t.Error("not the records with null")
	}
	for _, c := range []struct {
		index, value, want string
	}{
		{"nowhere", "", "it has Order_"},
		{"Order_count_Status", "1", "is a count"},
		{"Order_Status_CreatedAt", "x", "an integer"},
	} {
		if _, err := s.ByIndex(c.index, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.index, err)
		}
	}
	if _, err := s.ByIndex("Order_Editor", "a", "b"); err == nil || !strings.Contains(err.Error(), "2 values") {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Status", "CreatedAt"}, s.Schema().Indexes[5].Fields); diff != "" {
		t.Error(diff)
	}
}

// addTwin adds an index Counter_Name to the header of the counters, next to the one with the
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
	}, "counters")
}

// changeHeader changes the header of the counters.
func changeHeader(t *testing.T, db *persistable.DB, change func(*format.Catalog), path ...string) {
	t.Helper()
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		prefix := prefixOf(t, db, path...)
		found := must[[]headers.Header](t)(headers.Read(ctx, tx, prefix))
		c := must[*format.Catalog](t)(format.DecodeCatalog(found[0].Value))
		change(c)
		tx.Set(append(prefix, headers.Key(c.Schema().Type().Name)...), must[[]byte](t)(c.Encode()))
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
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name", persistable.BuildOptions{}))
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name_unique", persistable.BuildOptions{}))
			sound(t, s.Indexes())
		}
		check(t, s.Drop(ctx, dropped))
		if got := keyNames(t, db, "counters"); !slices.Equal(got, []string{left}) {
			t.Errorf("without %s: %q", dropped, got)
		}
	}
}

// TestDropTakesNamesInKeys: an index alone does not name what Drop drops, so that a second drop of
// one leaves the other one of that name.
func TestDropTakesNamesInKeys(t *testing.T) {
	db := seeded(t)
	addTwin(t, db)
	check(t, open(t, db, "counters").Drop(ctx, "Counter_Name"))
	if err := open(t, db, "counters").Drop(ctx, "Counter_Name"); !errors.Is(err, persistable.ErrNoIndex) {
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
	for verb, err := range map[string]error{"Violations": violations, "ByIndex": byIndex, "Drop": s.Drop(ctx, "Counter_Name"), "Rebuild": s.Indexes().Rebuild(ctx, "Counter_Name", persistable.BuildOptions{})} {
		if err == nil || !strings.Contains(err.Error(), "Counter_Name_unique") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	check(t, s.Drop(ctx, "Counter_Name_unique"))
	check(t, open(t, db, "counters").Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":99,"Name":"visits"}`)))))
	var shared *persistable.NotUniqueError
	if err := s.Indexes().Build(ctx, persistable.BuildOptions{}); !errors.As(err, &shared) {
		t.Fatal(err)
	}
	page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, shared.Violations[0].Index, ""))
	must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex(page.Violations[0].Index, "visits"))
	if _, err := must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex("Counter_Name_unique", "visits")).Slice(ctx); !errors.Is(err, persistable.ErrNotBuilt) || !strings.Contains(err.Error(), "the index Counter_Name_unique is") {
		t.Error(err)
	}
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); !slices.Equal(r.Skipped, []string{"Counter_Name_unique"}) {
		t.Errorf("skipped: %q", r.Skipped)
	}
}

// TestDropForeign: an index that needs Go code is dropped, too.
func TestDropForeign(t *testing.T) {
	db := seeded(t)
	changeHeader(t, db, func(c *format.Catalog) {
		d := must[index.Definition](t)(index.ParseLayout("Counter_code_unique", "Nowhere:string"))
		c.SetState(&d, index.Readable)
	}, "counters")
	check(t, open(t, db, "counters").Drop(ctx, "Counter_code_unique"))
	if got := keyNames(t, db, "counters"); slices.Contains(got, "Counter_code_unique") {
		t.Errorf("there is %q", got)
	}
}

// TestDropOfUnknownOutcome: a drop that has committed does not fail because its answer was
// lost; one that was not committed is done again.
func TestDropOfUnknownOutcome(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		engine := &enginetest.Lossy{Database: enginetest.Open(t)}
		check(t, bazaar.Seed(ctx, engine))
		db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))
		t.Cleanup(func() { check(t, db.Close()) })
		s := open(t, db, "counters")
		engine.Lose(dropped, nil)
		check(t, s.Drop(ctx, "Counter_Name_unique"))
		if got := keyNames(t, db, "counters"); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	}
}
