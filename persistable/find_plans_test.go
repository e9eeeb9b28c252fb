// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// found is the query of conditions that an index serves.
func found[T any](t testing.TB) func(*persistable.Query[T], error) *persistable.Query[T] {
	return must[*persistable.Query[T]](t)
}

// TestFindCosts pins what each kind of plan costs in rounds, reads of ranges and of
// keys.
func TestFindCosts(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	someOrders(t, orders, 30)
	for i := range 20 {
		a := Article{Section: "s", Slug: string(rune('a' + i)), Published: day0}
		if i%4 == 0 {
			a.Editor = ptr("ann")
		}
		if i%2 == 0 {
			a.Tags = []string{"x"}
		}
		check(t, articles.Create(ctx, NewArticle(a)))
	}
	f, a := OrderFields, ArticleFields
	list := func(q *persistable.Query[*Order]) func() error {
		return func() error { return second(q.Slice(ctx)) }
	}
	type budget struct{ rounds, gets, ranges int }
	for name, c := range map[string]struct {
		want budget
		run  func() error
	}{
		"filter":            {budget{2, 10, 1}, list(found[*Order](t)(orders.Find(f.Status.Equal(Paid), f.Amount.From(20))))},
		"scan":              {budget{1, 0, 1}, list(found[*Order](t)(orders.AllowScan().Find(f.Amount.From(20))))},
		"in, merged":        {budget{2, 20, 2}, list(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))))},
		"in, merged, limit": {budget{2, 4, 2}, list(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))).Limit(4))},
		"in, filter, limit": {budget{2, 16, 2}, list(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped), f.Amount.From(10))).Limit(3))},
		"in, one by one":    {budget{2, 3, 3}, list(found[*Order](t)(orders.Find(f.Number.In("01", "02", "03"))))},
		"or of two indexes": {budget{2, 11, 2}, list(found[*Order](t)(orders.Find(persistable.Or(f.Status.Equal(Paid), f.Number.Equal("02")))))},
		"intersection": {budget{2, 5, 2}, func() error {
			return second(found[*Article](t)(articles.Find(a.Editor.Equal(ptr("ann")), a.Tags.Equal("x"))).Slice(ctx))
		}},
		"page of lanes": {budget{2, 6, 2}, func() error {
			return second(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))).Limit(5).Page(ctx, ""))
		}},
		"filter, covered": {budget{1, 0, 1}, func() error {
			return second(found[*Article](t)(articles.Find(a.Section.Equal("s"), a.Published.From(day0), a.Editor.Equal(ptr("ann")))).Slice(ctx))
		}},
		"first of a long range": {budget{2, 1, 1}, func() error { return second(orders.FindOne(ctx, f.Status.Equal(Paid))) }},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, c.run()) // opens the store
			counts, err := counter.Measure(c.run)
			check(t, err)
			if got := (budget{counts.Rounds, counts.Gets, counts.Ranges}); got != c.want {
				t.Errorf("it cost %v,\n  that is %+v, want %+v", counts, got, c.want)
			}
		})
	}
}

// TestFilterLimit reads as many keys as a query may, and one more.
func TestFilterLimit(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 30) // ten of each status
		f := OrderFields
		tag := "_ persistable.Index `persist:\"Status,Amount\"`"
		for name, c := range map[string]struct {
			query *persistable.Query[*Order]
			tag   string
			keys  int // that it reads
		}{
			"filter": {found[*Order](t)(s.Find(f.Status.Equal(Paid), f.Amount.From(20))), tag, 10},
			"scan":   {found[*Order](t)(s.AllowScan().Find(f.Amount.From(20))), "_ persistable.Index `persist:\"Amount\"`", 30},
			"lanes":  {found[*Order](t)(s.Find(f.Status.In(Paid, Shipped), f.Amount.From(20))), "", 20},
		} {
			if _, err := c.query.FilterLimit(c.keys).Slice(ctx); err != nil {
				t.Errorf("%s: %d keys: %v", name, c.keys, err)
			}
			n, err := 0, error(nil)
			for _, err = range c.query.FilterLimit(c.keys - 1).All(ctx) {
				n++
			}
			remedy := ": "
			if c.tag != "" {
				remedy = ": add the index " + c.tag + ", or "
			}
			wantError(t, err, persistable.ErrFilterLimit, fmt.Sprintf(": Order: the query has looked at %d records and leaves some out in memory%sraise the query's FilterLimit", c.keys-1, remedy))
			if _, err := c.query.FilterLimit(persistable.NoLimit).Count(ctx); err != nil {
				t.Errorf("%s: no limit: %v", name, err)
			}
		}
		in := found[*Order](t)(s.Find(f.Status.In(Paid, Shipped))).FilterLimit(1)
		if all := must[[]*Order](t)(in.Slice(ctx)); len(all) != 20 {
			t.Errorf("lanes that leave nothing out yield %d records", len(all))
		}
	})
}

// TestFilterLimitCountsRecords has alternatives and elements of a slice lead to one record: it
// counts once, in both directions.
func TestFilterLimitCountsRecords(t *testing.T) {
	s, f := ArticleStoreOf(open(t, enginetest.Open(t))), ArticleFields
	const n = 12
	for i := range n {
		check(t, s.Save(ctx, &Article{ID: fmt.Sprintf("%02d", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann"), Tags: []string{"x", "y", "z"}}))
	}
	and := persistable.And[*Article]
	for name, conditions := range map[string][]persistable.Condition[*Article]{
		"elements":         {f.Tags.From("x")},
		"merged lanes":     {f.Tags.In("x", "y", "z"), f.Slug.From("")},
		"lanes in turn":    {persistable.Or(and(f.Editor.Equal(ptr("ann")), f.Slug.From("5")), and(f.Tags.From("x"), f.Slug.From("")))},
		"one leaves none":  {persistable.Or(f.Editor.Equal(ptr("ann")), and(f.Published.Equal(day0), f.Slug.From("5")))},
		"the second wants": {persistable.Or(and(f.Published.Equal(day0), f.Slug.From("9")), f.Editor.Equal(ptr("ann")))},
	} {
		q := found[*Article](t)(s.Find(conditions...))
		for _, reverse := range []bool{false, true} {
			if all, err := turned(q, reverse).FilterLimit(n).Slice(ctx); err != nil || len(all) != n {
				t.Errorf("%s, in reverse %t: %d records, %v", name, reverse, len(all), err)
			}
			wantError(t, second(turned(q, reverse).FilterLimit(n-1).Slice(ctx)), persistable.ErrFilterLimit, fmt.Sprintf("looked at %d records", n-1))
		}
	}
}

// TestFilterLimitOfIntersections counts the keys that an intersection takes from both indexes,
// those of one record once.
func TestFilterLimitOfIntersections(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	for i := range 10 {
		a := &Article{ID: fmt.Sprint(i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}
		if i%2 == 0 {
			a.Tags = []string{"x"}
		}
		check(t, s.Save(ctx, a))
	}
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x")))
	const keys = 9 // of 0 to 8; after it no record has the tag
	if all := must[[]*Article](t)(q.FilterLimit(keys).Slice(ctx)); len(all) != 5 {
		t.Errorf("%d records", len(all))
	}
	wantError(t, second(q.FilterLimit(keys-1).Slice(ctx)), persistable.ErrFilterLimit, fmt.Sprintf("looked at %d records", keys-1))
}

// TestLanesAfterWrites deletes or changes all other records at the first one that a query
// with several lanes yields, in the same transaction. The entries of more records
// than one batch has were read before; none of these records comes, or as it was.
func TestLanesAfterWrites(t *testing.T) {
	f := OrderFields
	for name, change := range map[string]func(s persistable.Store[*Order, idgen.ID], o *Order) error{
		"delete": func(s persistable.Store[*Order, idgen.ID], o *Order) error { return s.Delete(ctx, o.ID) },
		"change": func(s persistable.Store[*Order, idgen.ID], o *Order) error {
			changed := *o
			changed.Status = Shipped
			return s.Save(ctx, &changed)
		},
	} {
		db := open(t, enginetest.Open(t))
		s := OrderStoreOf(db, "t")
		var all []*Order
		for i := range 400 {
			all = append(all, s.New(Order{Number: fmt.Sprintf("%03d", i), Status: OrderStatus(i % 2), CreatedAt: day0}))
		}
		check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			bound, n := s.In(tx), 0
			for o, err := range found[*Order](t)(bound.Find(f.Status.In(Pending, Paid))).All(ctx) {
				if err != nil {
					return err
				}
				if n++; n > 256 || o.Status == Shipped {
					t.Errorf("%s: order %s of status %d comes as number %d", name, o.Number, o.Status, n)
					return nil
				}
				for _, other := range all {
					if n == 1 && other.ID != o.ID {
						if err := change(bound.Store, other); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}))
	}
}

// TestScansOfIntersectionsMove reads an intersection with few common entries by a scan that
// stops again and again at its FilterLimit: each part begins where the one before stopped.
func TestScansOfIntersectionsMove(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	for i := range 30 {
		a := &Article{ID: fmt.Sprintf("%02d", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}
		if i%10 == 9 {
			a.Tags = []string{"x"}
		}
		check(t, s.Save(ctx, a))
	}
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x")))
	if got := strings.Join(articleIDs(stumbling(t, seed.Rand(t), q, "intersection")), " "); got != "09 19 29" {
		t.Errorf("the scan yields %s", got)
	}
}

// TestLanesInATransaction changes and deletes records in the loop over a query with
// several lanes, in the same transaction.
func TestLanesInATransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		f := OrderFields
		for name, conditions := range map[string][]persistable.Condition[*Order]{
			"merged":   {f.Status.In(Pending, Paid)},
			"sequence": {persistable.Or(f.Status.Equal(Pending), f.Number.From("0"))},
			"filter":   {f.Status.In(Pending, Paid), f.Amount.From(0)},
		} {
			for _, o := range must[[]*Order](t)(s.Scan().Slice(ctx)) {
				check(t, s.Delete(ctx, o.ID))
			}
			all := someOrders(t, s, 12)
			var seen []string
			check(t, db.Transact(ctx, func(tx persistable.Tx) error {
				seen = nil
				bound := s.In(tx)
				q, err := bound.Find(conditions...)
				if err != nil {
					return err
				}
				for o, err := range q.All(ctx) {
					if err != nil {
						return err
					}
					seen = append(seen, o.Number)
					if len(seen) == 1 {
						for _, other := range all[3:] {
							if err := bound.Delete(ctx, other.ID); err != nil {
								return err
							}
						}
					}
				}
				return nil
			}))
			if slices.Sort(seen); len(slices.Compact(seen)) != len(seen) || !slices.Contains(seen, "00") || !slices.Contains(seen, "01") {
				t.Errorf("%s: seen are %v", name, seen)
			}
		}
	})
}

// TestLanesGoOn reads merged lanes that overlap, and merged lanes in which several records
// have one place, in parts of one record: none is lost where a part ends.
func TestLanesGoOn(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	someOrders(t, orders, 10)
	for i := range 10 {
		check(t, articles.Save(ctx, &Article{ID: fmt.Sprint(i), Section: []string{"a", "b"}[i%2], Slug: fmt.Sprint(i / 2), Published: day0}))
	}
	random := seed.Rand(t)
	f := OrderFields
	overlapping := found[*Order](t)(orders.Find(persistable.Or(
		persistable.And(f.Number.From("01"), f.Amount.From(100)), persistable.And(f.Number.From("00"), f.Amount.From(0)))))
	checkFound(t, random, "overlapping", overlapping, strings.Fields("00 01 02 03 04 05 06 07 08 09"), numbers)
	if got := strings.Join(numbers(stumbling(t, random, overlapping, "overlapping")), " "); got != "00 01 02 03 04 05 06 07 08 09" {
		t.Errorf("by a scan with a small FilterLimit: %s", got)
	}
	sections := found[*Article](t)(articles.Find(ArticleFields.Section.In("a", "b"), ArticleFields.Slug.From("1")))
	checkFound(t, random, "sections", sections, strings.Fields("2 3 4 5 6 7 8 9"), articleIDs)
}

// TestTokensOfLanes opens the token of one query in others.
func TestTokensOfLanes(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, s, 30)
	f := OrderFields
	find := func(c ...persistable.Condition[*Order]) *persistable.Query[*Order] {
		return found[*Order](t)(s.Find(c...)).Limit(2)
	}
	first := must[persistable.Page[*Order]](t)(find(f.Status.In(Paid, Shipped)).Page(ctx, ""))
	for name, q := range map[string]*persistable.Query[*Order]{
		"other values": find(f.Status.In(Paid, Pending)),
		"a filter":     find(f.Status.In(Paid, Shipped), f.Amount.From(0)),
		"one lane":     find(f.Status.Equal(Paid)),
		"reverse":      find(f.Status.In(Paid, Shipped)).Reverse(),
	} {
		_, err := q.Page(ctx, first.Next)
		if wantError(t, err, persistable.ErrBadToken); t.Failed() {
			t.Log(name)
		}
	}
	filtered := must[persistable.Page[*Order]](t)(find(f.Status.Equal(Paid), f.Amount.From(1)).Page(ctx, ""))
	_, err := find(f.Status.Equal(Paid), f.Amount.From(2)).Page(ctx, filtered.Next)
	wantError(t, err, persistable.ErrBadToken)
}

// articlesBy is the store of a program in which articles have these indexes.
func articlesBy(db *persistable.DB, indexes ...int) *ArticleStore {
	var all []articleIndex
	for _, i := range indexes {
		all = append(all, indexOfArticles(i))
	}
	schema := articleSchemaWith(all...)
	schema.Values = articleSchema.Values
	return articlesOf(db, schema)
}

// articlesOfEditors saves articles of the sections "s" and "t", of which ann edits two of three.
func articlesOfEditors(t *testing.T, s *ArticleStore, n int) {
	t.Helper()
	for i := range n {
		a := &Article{ID: fmt.Sprintf("%02d", i), Section: []string{"s", "t"}[i%2], Slug: fmt.Sprint(i), Published: day0.AddDate(0, 0, i%2)}
		if i%3 > 0 {
			a.Editor = ptr("ann")
		}
		check(t, s.Save(ctx, a))
	}
}

// TestNewIndexesDoNotStopQueries adds an index that is the best one for one alternative, and the
// second best for another: until it is built each alternative is read by an index that is.
func TestNewIndexesDoNotStopQueries(t *testing.T) {
	db := open(t, enginetest.Open(t))
	articlesOfEditors(t, articlesBy(db, editor, published), 12)
	s, f := articlesBy(db, editor, published, sectionPublished), ArticleFields
	q := found[*Article](t)(s.AllowScan().Find(persistable.Or(
		persistable.And(f.Section.Equal("s"), f.Published.Equal(day0)), persistable.And(f.Section.Equal("t"), f.Editor.Equal(ptr("ann"))))))
	for _, want := range []string{"Article_Published Article_Editor", "Article_Section_Published Article_Editor"} {
		var used []string
		for _, r := range must[*persistable.Explanation](t)(q.Explain(ctx)).Ranges {
			used = append(used, r.Index)
		}
		if got := strings.Join(used, " "); got != want {
			t.Errorf("it reads %s, want %s", got, want)
		}
		if got := strings.Join(slices.Sorted(slices.Values(articleIDs(must[[]*Article](t)(q.Slice(ctx))))), " "); got != "00 01 02 04 05 06 07 08 10 11" {
			t.Errorf("it yields %s", got)
		}
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	}
}

// TestTokensOutliveNewIndexes goes on, in a program with one more index, by tokens of a program
// without it, before the index is built and afterwards, and back.
func TestTokensOutliveNewIndexes(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, f := articlesBy(db, editor, published), ArticleFields
	articlesOfEditors(t, old, 12)
	for name, conditions := range map[string][]persistable.Condition[*Article]{
		"one index":    {f.Section.Equal("s"), f.Published.Equal(day0)},
		"intersection": {f.Editor.Equal(ptr("ann")), f.Published.Equal(day0), f.Section.Equal("s")},
		"lanes":        {f.Section.In("s", "t"), f.Published.Equal(day0)},
		"two indexes":  {persistable.Or(persistable.And(f.Section.Equal("s"), f.Published.Equal(day0)), f.Editor.Equal(ptr("ann")))},
		"scan":         {f.Section.Equal("s")},
	} {
		find := func(indexes ...int) *persistable.Query[*Article] {
			return found[*Article](t)(articlesBy(db, indexes...).AllowScan().Find(conditions...))
		}
		before := find(editor, published)
		want := articleIDs(must[[]*Article](t)(before.Slice(ctx)))
		page := must[persistable.Page[*Article]](t)(before.Limit(2).Page(ctx, ""))
		scan := persistable.Across(before, "")
		some := articleIDs(readSome(t, scan, 3))
		for _, isBuilt := range []bool{false, true} {
			after := find(editor, published, sectionPublished)
			if isBuilt {
				check(t, articlesBy(db, editor, published, sectionPublished).Indexes().Build(ctx, persistable.BuildOptions{}))
			}
			next := must[persistable.Page[*Article]](t)(after.Limit(20).Page(ctx, page.Next))
			got := articleIDs(append(slices.Clone(page.Records), next.Records...))
			rest := append(slices.Clone(some), articleIDs(readSome(t, persistable.Across(after, scan.Token()), 20))...)
			if !slices.Equal(got, want) || !slices.Equal(rest, want) {
				t.Errorf("%s, built %t: pages have %v, parts of a scan %v, want %v", name, isBuilt, got, rest, want)
			}
		}
		check(t, old.Indexes().RemoveUnused(ctx))
	}
	q := []persistable.Condition[*Article]{f.Section.Equal("s"), f.Published.Equal(day0)}
	check(t, articlesBy(db, editor, published, sectionPublished).Indexes().Build(ctx, persistable.BuildOptions{}))
	page := must[persistable.Page[*Article]](t)(found[*Article](t)(articlesBy(db, editor, published, sectionPublished).Find(q...)).Limit(1).Page(ctx, ""))
	_, err := found[*Article](t)(old.Find(q...)).Page(ctx, page.Next)
	if wantError(t, err, persistable.ErrBadToken); !strings.Contains(err.Error(), "an index that the type does not have") {
		t.Error(err)
	}
}

// TestTokensOfOtherIndexes opens the token of lanes in a query of the same conditions that
// another program reads by another index.
func TestTokensOfOtherIndexes(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for i := range 9 {
		check(t, ArticleStoreOf(db).Save(ctx, &Article{ID: fmt.Sprint(i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}))
	}
	f := ArticleFields
	find := func(i int) *persistable.Query[*Article] {
		return found[*Article](t)(articlesBy(db, i).Find(f.Published.Equal(day0), f.Editor.Equal(ptr("ann")), f.Section.In("s", "t")))
	}
	page := must[persistable.Page[*Article]](t)(find(editor).Limit(2).Page(ctx, ""))
	if len(page.Records) != 2 {
		t.Errorf("the first page is %+v", page)
	}
	must[persistable.Page[*Article]](t)(find(editor).Page(ctx, page.Next))
	_, err := find(published).Page(ctx, page.Next)
	wantError(t, err, persistable.ErrBadToken)
}
