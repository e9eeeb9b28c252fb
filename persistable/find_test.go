// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

func TestFind(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 9)
		f := OrderFields
		type conditions = []persistable.Condition[*Order]
		cases := map[string]struct {
			conditions conditions
			want       string
		}{
			"unique":               {conditions{f.Number.Equal("04")}, "04"},
			"single":               {conditions{f.Status.Equal(Paid)}, "01 04 07"},
			"range":                {conditions{f.Number.From("03"), f.Number.Before("06")}, "03 04 05"},
			"after and to":         {conditions{f.Number.After("03"), f.Number.To("06")}, "04 05 06"},
			"compound":             {conditions{f.Status.Equal(Paid), f.CreatedAt.Equal(day1)}, "04"},
			"compound, any order":  {conditions{f.CreatedAt.Equal(day1), f.Status.Equal(Paid)}, "04"},
			"compound with range":  {conditions{f.CreatedAt.From(day1), f.Status.Equal(Paid)}, "04 07"},
			"range on first field": {conditions{f.Status.After(Pending)}, "01 04 07 02 05 08"},
			"nothing":              {conditions{f.Number.Equal("none")}, ""},
			"two ranges":           {conditions{f.Status.From(Paid), f.CreatedAt.From(day1)}, "04 07 05 08"},
			"filter":               {conditions{f.Status.Equal(Paid), f.Amount.After(1)}, "04 07"},
			"unique and filter":    {conditions{f.Number.Equal("04"), f.Status.Equal(Pending)}, ""},
			"range and equality":   {conditions{f.Number.From("03"), f.Number.Equal("04")}, "04"},
			"contradiction":        {conditions{f.Status.Equal(Paid), f.Status.Equal(Shipped)}, ""},
			"in":                   {conditions{f.Status.In(Shipped, Pending)}, "00 02 03 05 06 08"},
			"in, unique":           {conditions{f.Number.In("07", "none", "01", "07")}, "01 07"},
			"in, then a range":     {conditions{f.Status.In(Shipped, Paid), f.CreatedAt.From(day1)}, "04 05 07 08"},
			"in, before the range": {conditions{f.CreatedAt.Before(day1), f.Status.In(Shipped, Paid)}, "01 02"},
			"or":                   {conditions{persistable.Or(f.Number.Equal("08"), f.Status.Equal(Paid))}, "08 01 04 07"},
			"or, one in both":      {conditions{persistable.Or(f.Status.Equal(Paid), f.Number.Equal("04"))}, "01 04 07"},
			"in of nothing":        {conditions{f.Status.In()}, ""},
			"in of nothing, and":   {conditions{f.Status.Equal(Paid), f.Amount.In()}, ""},
			"in of nothing, or":    {conditions{persistable.Or(f.Amount.In(), f.Status.Equal(Paid))}, "01 04 07"},
			"or of nothing":        {conditions{persistable.Or[*Order]()}, ""},
			"or of ands":           {conditions{persistable.Or(persistable.And(f.Status.Equal(Paid), f.Amount.To(1)), f.Number.From("08"))}, "01 08"},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				q := must[*persistable.Query[*Order]](t)(s.Find(c.conditions...))
				want := strings.Fields(c.want)
				if diff := cmp.Diff(want, numbers(must[[]*Order](t)(q.Slice(ctx)))); diff != "" {
					t.Errorf("Find (-want +got):\n%s", diff)
				}
				one, err := s.FindOne(ctx, c.conditions...)
				if len(want) == 0 {
					wantError(t, err, persistable.ErrNotFound)
				} else if check(t, err); one.Number != want[0] {
					t.Errorf("FindOne = %s, want %s", one.Number, want[0])
				}
			})
		}
	})
}

// TestNothingMatches puts conditions without an alternative to each method of a query. A
// list of values that a program has computed may be empty.
func TestNothingMatches(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 3)
		q := must[*persistable.Query[*Order]](t)(s.Find(OrderFields.Amount.In()))
		for _, q := range []*persistable.Query[*Order]{q, q.Reverse(), q.Limit(2)} {
			page := must[persistable.Page[*Order]](t)(q.Page(ctx, ""))
			if len(page.Records) != 0 || page.Next != "" {
				t.Errorf("the page has %d records, next %q", len(page.Records), page.Next)
			}
			if n := must[int](t)(q.Count(ctx)); n != 0 {
				t.Errorf("Count = %d, want 0", n)
			}
			wantError(t, second(q.First(ctx)), persistable.ErrNotFound)
			if e := must[*persistable.Explanation](t)(q.Explain(ctx)); !strings.Contains(e.String(), "nothing") {
				t.Errorf("the explanation is %s", e)
			}
		}
		if n, err := s.DeleteWhere(ctx, q, persistable.BatchOptions{}); n != 0 || err != nil {
			t.Errorf("DeleteWhere = %d, %v", n, err)
		}
		if n := must[int](t)(s.Scan().Count(ctx)); n != 3 {
			t.Errorf("%d records are left, want 3", n)
		}
	})
}

func TestFindSaysThatNoIndexFits(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	f, a := OrderFields, ArticleFields
	for name, err := range map[string]error{
		"not the first field":  second(orders.Find(f.CreatedAt.Equal(day0))),
		"no index":             second(orders.Find(f.Amount.From(1), f.TenantID.Equal("t"))),
		"an alternative":       second(orders.Find(persistable.Or(f.Status.Equal(Paid), f.Amount.Equal(1)))),
		"null in a unique one": second(articles.Find(a.ISBN.Equal(nil))),
	} {
		if !errors.Is(err, persistable.ErrNoIndex) || !strings.Contains(err.Error(), "): it has (") || !strings.Contains(err.Error(), "add an index tag") {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := second(orders.Find(f.Amount.From(1), f.CreatedAt.From(day0), f.TenantID.Equal("t")))
	wantError(t, missing, persistable.ErrNoIndex, "such as _ persistable.Index `persist:\"TenantID,Amount\"`, and run")
	wantError(t, second(orders.Find()), persistable.ErrNoIndex, "by Scan")
	err := second(orders.Find(f.CreatedAt.Equal(day0)))
	const want = "persistable: Order: no index begins with (CreatedAt): it has (Number), (Status), (Status,CreatedAt); " +
		"add an index tag, such as _ persistable.Index `persist:\"CreatedAt\"`, and run go generate, or read all records by AllowScan"
	if !errors.Is(err, persistable.ErrNoIndex) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestErrorNamesUsableIndexes: a condition that no index serves is answered with the indexes
// that Find can use, so not with counts, ranks or the index of versions.
func TestErrorNamesUsableIndexes(t *testing.T) {
	db := open(t, enginetest.Open(t))
	condition := ArticleFields.Editor.Equal(ptr("x"))
	for want, indexes := range map[string][]kindIndex{
		"it has (Slug), (Tags);":             {uniqueSlug, versions, valueOfTags, countBySection},
		"it has no index that Find can use;": {versions, countBySection},
	} {
		_, err := kindStore(db, 0, indexes...).Find(condition)
		wantError(t, err, persistable.ErrNoIndex, want)
	}
	err := kindStore(db, 0, versions, uniqueSlug).Indexes().Rebuild(ctx, "Article_slug", persistable.BuildOptions{})
	if !errors.Is(err, persistable.ErrNoIndex) || strings.Contains(err.Error(), "()") {
		t.Errorf("the error is %q", err)
	}
}

func TestFindOnNullsAndSlices(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x", "y"}, Published: day0})))
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "b", Editor: ptr("ed"), Published: day1})))
	f := ArticleFields
	for want, c := range map[string]persistable.Condition[*Article]{
		"a": f.ISBN.Equal(ptr("1")), "b": f.Editor.Equal(ptr("ed")),
	} {
		if got := must[*Article](t)(s.FindOne(ctx, c)); got.Slug != want {
			t.Errorf("found %s, want %s", got.Slug, want)
		}
	}
	if got := must[*Article](t)(s.FindOne(ctx, f.Editor.Equal(nil))); got.Slug != "a" {
		t.Errorf("the article without editor is %s", got.Slug)
	}
	if got := must[*Article](t)(s.FindOne(ctx, f.Tags.Equal("y"))); got.Slug != "a" {
		t.Errorf("the article with the tag is %s", got.Slug)
	}
	if got := must[*Article](t)(s.FindOne(ctx, f.Section.Equal("s"), f.Slug.Equal("b"))); got.Slug != "b" {
		t.Errorf("found %s", got.Slug)
	}
}

// TestSliceRangeYieldsElements compares a range of a slice's index with the same
// condition of Find.
func TestSliceRangeYieldsElements(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", Tags: []string{"x", "y", "z"}, Published: day0})))
	if n := must[int](t)(s.OrderedByTags().From("y").Count(ctx)); n != 2 {
		t.Errorf("the method yields %d entries, want 2", n)
	}
	if n := must[int](t)(found[*Article](t)(s.Find(ArticleFields.Tags.From("y"))).Count(ctx)); n != 1 {
		t.Errorf("Find yields %d records, want 1", n)
	}
}

// TestErrorsAreShort makes errors about values of several kilobytes, and of a type with many
// indexes.
func TestErrorsAreShort(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	long := strings.Repeat("\x01a", 4000)
	check(t, s.Save(ctx, s.New(Order{Number: long, CreatedAt: day0})))
	slugs := slices.Repeat([]kindIndex{uniqueSlug}, 30)
	for i := range slugs {
		slugs[i].Name = fmt.Sprint("Article_Slug", i)
	}
	_, many := kindStore(db, 0, slugs...).Find(ArticleFields.Editor.Equal(ptr("x")))
	for name, err := range map[string]error{
		"no owner":        second(s.ByNumber(ctx, long+"b")),
		"no owner of two": second(articles.BySectionSlug(ctx, long[:4000], long[:4000])),
		"not unique":      s.Save(ctx, s.New(Order{Number: long, CreatedAt: day0})),
		"no id":           second(articles.Get(ctx, long)),
		"no index":        s.Indexes().Rebuild(ctx, long, persistable.BuildOptions{}),
		"many indexes":    many,
	} {
		if err == nil || len(err.Error()) > 700 {
			t.Errorf("%s: the error is %.100v", name, err)
		}
	}
	if !strings.Contains(many.Error(), "(Slug), and 20 more;") {
		t.Error(many)
	}
}

// TestFindRangeWithNulls asks for ranges that null belongs to: a unique index,
// which has no nulls, must not answer them; a plain one does.
func TestFindRangeWithNulls(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Editor: ptr("1"), Published: day0})))
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "b", Published: day1})))
	f := ArticleFields
	for name, c := range map[string][2]persistable.Condition[*Article]{
		"Before":    {f.ISBN.Before(ptr("5")), f.Editor.Before(ptr("5"))},
		"To":        {f.ISBN.To(ptr("5")), f.Editor.To(ptr("5"))},
		"From(nil)": {f.ISBN.From(nil), f.Editor.From(nil)},
	} {
		if _, err := s.Find(c[0]); !errors.Is(err, persistable.ErrNoIndex) {
			t.Errorf("%s on the unique field: %v, want an ErrNoIndex", name, err)
		}
		q := must[*persistable.Query[*Article]](t)(s.Find(c[1]))
		if n := must[int](t)(q.Count(ctx)); n != 2 {
			t.Errorf("%s on the plain field: %d records, want 2", name, n)
		}
	}
	for name, c := range map[string]persistable.Condition[*Article]{"After(nil)": f.ISBN.After(nil), "From": f.ISBN.From(ptr("0"))} {
		q := must[*persistable.Query[*Article]](t)(s.Find(c))
		if n := must[int](t)(q.Count(ctx)); n != 1 {
			t.Errorf("%s on the unique field: %d records, want 1", name, n)
		}
	}
}

// TestLargestPage asks for more records than a range read's limit can say.
func TestLargestPage(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	articles(t, s, 3)
	for _, limit := range []int{math.MaxInt32, math.MaxInt} {
		for _, q := range []*persistable.Query[*Article]{s.OrderedByPublished().Limit(limit).Query(), s.Scan().Limit(limit)} {
			page := must[persistable.Page[*Article]](t)(q.Page(ctx, ""))
			if len(page.Records) != 3 || page.Next != "" {
				t.Errorf("Limit(%d): %d records, next %q", limit, len(page.Records), page.Next)
			}
		}
	}
}

// TestIntersectionSkips intersects two indexes with entries that lie in long runs of one of
// them: whole batches of one index have no partner, so that its read goes on at the
// other's next id. The first id after a run is often the only common one.
func TestIntersectionSkips(t *testing.T) {
	random := seed.Rand(t)
	counter := faults.NewCounter(enginetest.Open(t))
	s := ArticleStoreOf(open(t, counter))
	var all []*Article
	var want []string
	add := func(n int, editor, tag bool) {
		for range n {
			a := &Article{ID: fmt.Sprintf("%026d", len(all)), Section: "s", Slug: fmt.Sprint(len(all)), Published: day0}
			if editor {
				a.Editor = ptr("ann")
			}
			if tag {
				a.Tags = []string{"x"}
			}
			if all = append(all, a); editor && tag {
				want = append(want, a.Slug)
			}
		}
	}
	for run := range 6 {
		add(1, true, true)
		add(800+random.IntN(800), run%2 == 0, run%2 == 1)
		add(random.IntN(2), true, true)
	}
	check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x"))).FilterLimit(persistable.NoLimit)
	for _, reverse := range []bool{false, true} {
		if reverse {
			q = q.Reverse()
			slices.Reverse(want)
		}
		var got []string
		counts, err := counter.Measure(func() error {
			found, err := q.Slice(ctx)
			got = slugs(found)
			return err
		})
		check(t, err)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("in reverse %t (-want +got):\n%s", reverse, diff)
		}
		if counts.Ranges < 4 {
			t.Errorf("in reverse %t: it read %d ranges: it skipped nothing", reverse, counts.Ranges)
		}
	}
}

// TestIntersectionReadsOn intersects two indexes of which every batch has common entries:
// their reads go on and do not begin again.
func TestIntersectionReadsOn(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	s := ArticleStoreOf(open(t, counter))
	var all []*Article
	for i := range 1000 {
		a := &Article{ID: fmt.Sprintf("%026d", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}
		if i%3 == 0 {
			a.Tags = []string{"x"}
		}
		all = append(all, a)
	}
	check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x"))).FilterLimit(persistable.NoLimit)
	check(t, second(q.First(ctx))) // opens the store
	counts, err := counter.Measure(func() error { return second(q.Slice(ctx)) })
	if check(t, err); counts.Ranges != 2 {
		t.Errorf("it began %d reads of ranges", counts.Ranges)
	}
}
