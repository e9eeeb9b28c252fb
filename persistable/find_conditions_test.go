// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestAbsentConditions: a zero Condition is as if it were not given, wherever it is.
func TestAbsentConditions(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, f := OrderStoreOf(db, "t"), OrderFields
	someOrders(t, s, 6)
	type conditions = []persistable.Condition[*Order]
	var absent persistable.Condition[*Order]
	paid := f.Status.Equal(Paid)
	want := numbers(must[[]*Order](t)(found[*Order](t)(s.Find(paid)).Slice(ctx)))
	for name, c := range map[string]conditions{
		"first": {absent, paid}, "last": {paid, absent, absent}, "in And": {persistable.And(absent, paid)}, "in Or": {persistable.Or(absent, paid)},
		"And of absent ones": {persistable.And(absent, absent), paid}, "Or of absent ones": {persistable.Or(absent), paid}, "And of none": {persistable.And[*Order](), paid},
		"an absent And in Or": {persistable.Or(persistable.And(absent), paid)},
	} {
		if got := numbers(must[[]*Order](t)(found[*Order](t)(s.Find(c...)).Slice(ctx))); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, c := range map[string]conditions{
		"none": nil, "an absent one": {absent}, "an Or of absent ones": {persistable.Or(absent, persistable.And(absent))},
	} {
		_, err := s.Find(c...)
		if wantError(t, err, persistable.ErrNoIndex); !strings.Contains(err.Error(), "no condition is given") || !strings.Contains(err.Error(), "AllowScan") {
			t.Errorf("%s: %v", name, err)
		}
		q := found[*Order](t)(s.AllowScan().Find(c...)).FilterLimit(1)
		if n := must[int](t)(q.Count(ctx)); n != 6 {
			t.Errorf("%s: %d of 6 records", name, n)
		}
	}
	for name, c := range map[string]conditions{
		"In": {f.Amount.In()}, "Or": {persistable.Or[*Order]()}, "In with another": {f.Status.In(), paid}, "In, absent": {absent, f.Status.In()},
	} {
		if n := must[int](t)(found[*Order](t)(s.Find(c...)).Count(ctx)); n != 0 {
			t.Errorf("%s of none: %d records", name, n)
		}
	}
}

// TestFieldsWithoutIndex: a condition on a field without an index filters what an index yields, up
// to the FilterLimit. Alone it is refused, with the tag to paste.
func TestFieldsWithoutIndex(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, f := OrderStoreOf(db, "t"), OrderFields
	someOrders(t, s, 9)
	q := found[*Order](t)(s.Find(f.Status.Equal(Paid), persistable.HasPrefix(f.TenantID, "t"), f.Amount.From(0)))
	if n := must[int](t)(q.Count(ctx)); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
	_, err := q.FilterLimit(2).Slice(ctx)
	if wantError(t, err, persistable.ErrFilterLimit); !strings.Contains(err.Error(), "`persist:\"Status,TenantID\"`") {
		t.Error(err)
	}
	_, err = s.Find(f.TenantID.Equal("t"), f.Amount.From(0))
	if wantError(t, err, persistable.ErrNoIndex); !strings.Contains(err.Error(), "`persist:\"TenantID,Amount\"`") {
		t.Error(err)
	}
}

// TestPrefix: ranges and conditions by the beginning of a text, in ascending and in descending order.
func TestPrefix(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, sales := OrderStoreOf(db, "t"), SaleStoreOf(db)
	someOrders(t, orders, 30)
	codes := []string{"", "a", "a\x00", "a\x00b", "ab", "a\xc3\xbf", "b"}
	for i, code := range codes {
		check(t, sales.Save(ctx, &Sale{ID: string(rune('a' + i)), Code: &code, Country: code, CreatedAt: day0}))
	}
	check(t, sales.Save(ctx, &Sale{ID: "null", CreatedAt: day0}))
	if got := numbers(must[[]*Order](t)(persistable.WithPrefix(orders.OrderedByNumber(), "2").Before("23").Slice(ctx))); !slices.Equal(got, []string{"20", "21", "22"}) {
		t.Errorf("numbers with 2: %v", got)
	}
	for _, prefix := range []string{"", "a", "a\x00", "a\x00b", "b", "c", "a\xc3"} {
		var want []string
		for _, code := range codes {
			if strings.HasPrefix(code, prefix) {
				want = append(want, code)
			}
		}
		slices.Sort(want)
		var ordered, countries []string
		for v, err := range persistable.WithPrefix(sales.OrderedByCode(), prefix).Reverse().All(ctx) {
			check(t, err)
			ordered = append(ordered, *v.Code)
		}
		for v, err := range found[*Sale](t)(sales.Find(persistable.HasPrefix(SaleFields.Country, prefix))).All(ctx) {
			if check(t, err); v.ID != "null" || prefix != "" {
				countries = append(countries, v.Country)
			}
		}
		if prefix == "" {
			countries = slices.DeleteFunc(countries, func(s string) bool { return s == "" })
			countries = append([]string{""}, countries...)
		}
		if !slices.Equal(ordered, want) || !slices.Equal(countries, want) {
			t.Errorf("prefix %q: codes %q, countries %q, want %q", prefix, ordered, countries, want)
		}
	}
}

// TestCountReadsAnIndex: Count reads the number of a group from a Count index, in one round, where
// the query wants just the records of groups. It counts while that index is being built.
func TestCountReadsAnIndex(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	s, f := SaleStoreOf(db), SaleFields
	for i := range 40 {
		v := &Sale{ID: string(rune('A' + i)), Status: OrderStatus(i % 2), Country: []string{"at", "de"}[i/2%2], Amount: int64(i%4 - 1), CreatedAt: day0, Tags: []string{"x"}}
		if i%8 == 0 {
			v.Editor = ptr("ann")
		}
		check(t, s.Save(ctx, v))
	}
	scan := s.AllowScan()
	for name, c := range map[string]struct {
		query *persistable.Query[*Sale]
		want  int
		index string
	}{
		"all":                     {s.Scan(), 40, "Sale_count"},
		"all, limited":            {s.Scan().Limit(7), 7, "Sale_count"},
		"a group":                 {found[*Sale](t)(s.Find(f.Country.Equal("at"), f.Status.Equal(1))), 10, "Sale_count_Status_Country"},
		"groups":                  {found[*Sale](t)(s.Find(f.Status.In(0, 1), f.Country.Equal("de"))), 20, "Sale_count_Status_Country"},
		"null":                    {found[*Sale](t)(scan.Find(f.Editor.Equal(nil))), 35, "Sale_count_Editor"},
		"an element":              {found[*Sale](t)(scan.Find(f.Tags.Equal("x"))), 40, "Sale_count_Tags"},
		"a predicate":             {found[*Sale](t)(s.Find(f.Status.Equal(1), f.Amount.After(0))), 10, "Sale_count_Status_where_Amount"},
		"nothing":                 {found[*Sale](t)(s.Find(f.Country.Equal("fr"), f.Status.Equal(1))), 0, "Sale_count_Status_Country"},
		"one more clause":         {found[*Sale](t)(s.Find(f.Country.Equal("at"), f.Status.Equal(1), f.Units.Equal(0))), 10, ""},
		"a range":                 {found[*Sale](t)(s.Find(f.Country.From("at"), f.Status.Equal(1))), 20, ""},
		"another constant":        {found[*Sale](t)(s.Find(f.Status.Equal(1), f.Amount.After(1))), 10, ""},
		"overlapping":             {found[*Sale](t)(scan.Find(persistable.Or(f.Tags.Equal("x"), f.Editor.Equal(ptr("ann"))))), 40, ""},
		"part of an index":        {s.ByStatusCreatedAt(1).Query(), 20, ""},
		"a nullable order":        {s.OrderedByCode().Query(), 0, ""},
		"a partial order":         {s.ByEditorWhereStatusAmount().Query(), 10, ""},
		"all but a few":           {s.Scan().Limit(50), 40, "Sale_count"},
		"a predicate of no group": {found[*Sale](t)(s.Find(f.Status.Equal(1), f.Amount.After(0), f.Editor.Equal(nil))), 10, ""},
		"a part of a group":       {found[*Sale](t)(s.Find(f.Status.In(0, 1), f.Country.Equal("de"), f.CreatedAt.From(day1))), 0, ""},
	} {
		n := 0
		counts, err := counter.Measure(func() (err error) {
			n, err = c.query.Count(ctx)
			return err
		})
		check(t, err)
		if n != c.want {
			t.Errorf("%s: %d records, want %d", name, n, c.want)
		}
		e := must[*persistable.Explanation](t)(c.query.Explain(ctx))
		if e.Count != c.index {
			t.Errorf("%s: the index %q, want %q", name, e.Count, c.index)
		}
		if c.index != "" && (counts.Rounds != 1 || counts.Ranges != 0) {
			t.Errorf("%s: %+v", name, counts)
		}
	}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		if err := s.In(tx).Create(ctx, &Sale{ID: "new", CreatedAt: day0}); err != nil {
			return err
		}
		n, err := s.In(tx).Scan().Count(ctx)
		if n != 41 {
			err = errors.Join(err, errors.New("the transaction does not count its own record"))
		}
		return err
	}))
}

// TestCountWhileItsIndexIsBuilt: a Count index that is not complete is not read.
func TestCountWhileItsIndexIsBuilt(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for i := range 9 {
		check(t, kindStore(db, 0).Create(ctx, smallArticle(i)))
	}
	s := kindStore(db, 0, kindIndex{Definition: index.Definition{Name: "Article_count", Kind: index.Count}, entries: func(e *index.Entries, _ *Article) { e.End(e.Begin()) }})
	check(t, s.Create(ctx, smallArticle(9))) // counted, and the others are not
	q := s.Scan()
	for _, want := range []string{"", "Article_count"} {
		if n := must[int](t)(q.Count(ctx)); n != 10 {
			t.Errorf("by %q: %d records, want 10", want, n)
		}
		if e := must[*persistable.Explanation](t)(q.Explain(ctx)); e.Count != want {
			t.Errorf("the index %q, want %q", e.Count, want)
		}
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	}
}
