// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/dynamictest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

func TestQueryOrders(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 12) // number i: status i%3, day i/3
		pending := s.ByStatusCreatedAt(Pending)
		byNumber := s.OrderedByNumber()
		cases := map[string]struct {
			query *persistable.Query[*Order]
			want  string
		}{
			"equality":                {s.ByStatus(Paid), "01 04 07 10"},
			"equality, reverse":       {s.ByStatus(Paid).Reverse(), "10 07 04 01"},
			"reverse twice":           {s.ByStatus(Paid).Reverse().Reverse(), "01 04 07 10"},
			"limit":                   {s.ByStatus(Paid).Limit(2), "01 04"},
			"reverse and limit":       {s.ByStatus(Paid).Reverse().Limit(3), "10 07 04"},
			"limit beyond the end":    {s.ByStatus(Paid).Limit(100), "01 04 07 10"},
			"nothing equal":           {s.ByStatus(99), ""},
			"left prefix":             {pending.Query(), "00 03 06 09"},
			"from":                    {pending.From(day1).Query(), "03 06 09"},
			"after":                   {pending.After(day1).Query(), "06 09"},
			"to":                      {pending.To(day1).Query(), "00 03"},
			"before":                  {pending.Before(day1).Query(), "00"},
			"equal":                   {pending.Equal(day1).Query(), "03"},
			"from and before":         {pending.From(day1).Before(day2).Query(), "03"},
			"after and to, reversed":  {pending.After(day0).To(day2).Reverse().Query(), "06 03"},
			"tighter bound counts":    {pending.From(day1).From(day0).To(day1).To(day2).Query(), "03"},
			"empty range":             {pending.From(day2).Before(day1).Query(), ""},
			"range on first field":    {s.OrderedByStatusCreatedAt().From(Paid).Query(), "01 04 07 10 02 05 08 11"},
			"unique, in order":        {byNumber.From("04").To("06").Query(), "04 05 06"},
			"unique, exact":           {byNumber.Equal("05").Query(), "05"},
			"unique, after":           {byNumber.After("09").Query(), "10 11"},
			"unique, prefix no match": {byNumber.Equal("0").Query(), ""},
			"unique, reverse, limit":  {byNumber.Reverse().Limit(2).Query(), "11 10"},
			"by id":                   {s.Scan(), "00 01 02 03 04 05 06 07 08 09 10 11"},
			"by id, reverse, limit":   {s.Scan().Reverse().Limit(3), "11 10 09"},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				want := strings.Fields(c.want)
				if diff := cmp.Diff(want, numbers(must[[]*Order](t)(c.query.Slice(ctx)))); diff != "" {
					t.Errorf("Slice (-want +got):\n%s", diff)
				}
				if n := must[int](t)(c.query.Count(ctx)); n != len(want) {
					t.Errorf("Count = %d, want %d", n, len(want))
				}
				var all []*Order
				for o, err := range c.query.All(ctx) {
					check(t, err)
					all = append(all, o)
				}
				if diff := cmp.Diff(want, numbers(all)); diff != "" {
					t.Errorf("All (-want +got):\n%s", diff)
				}
				first, err := c.query.First(ctx)
				if len(want) == 0 {
					wantError(t, err, persistable.ErrNotFound)
				} else if check(t, err); first.Number != want[0] {
					t.Errorf("First = %s, want %s", first.Number, want[0])
				}
			})
		}
	})
}

func TestQueriesAreImmutable(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, s, 6)
	base := s.ByStatusCreatedAt(Pending).From(day0)
	_ = base.After(day0)
	_ = base.Before(day0)
	_ = base.Reverse().Limit(1)
	if got := numbers(must[[]*Order](t)(base.Slice(ctx))); !slices.Equal(got, []string{"00", "03"}) {
		t.Errorf("the query changed: %v", got)
	}
}

func TestStoppingAnIteration(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 30)
		var got []*Order
		for o, err := range s.OrderedByNumber().All(ctx) {
			check(t, err)
			if got = append(got, o); len(got) == 4 {
				break
			}
		}
		if diff := cmp.Diff([]string{"00", "01", "02", "03"}, numbers(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestQuerySeesItsTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders := OrderStoreOf(db, "t")
		first, second := orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1}), orders.New(Order{Number: "2", Status: Pending, CreatedAt: day0, Amount: 1})
		check(t, orders.Create(ctx, first))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			s := orders.In(tx)
			if err := s.Create(ctx, second); err != nil {
				return err
			}
			got, err := s.ByStatus(Pending).Slice(ctx)
			if err == nil && len(got) != 2 {
				err = fmt.Errorf("the transaction sees %v", numbers(got))
			}
			if err != nil {
				return err
			}
			if err := s.Delete(ctx, first.ID); err != nil {
				return err
			}
			if _, err = s.ByNumber(ctx, "1"); err == nil {
				return fmt.Errorf("the transaction sees what it deleted")
			}
			return ignore(err, persistable.ErrNotFound)
		}))
		if got := numbers(must[[]*Order](t)(orders.ByStatus(Pending).Slice(ctx))); !slices.Equal(got, []string{"2"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestEntriesOfNull(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		for slug, editor := range map[string]*string{"none": nil, "empty": ptr(""), "zero": ptr("\x00"), "ann": ptr("ann")} {
			check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: slug, Editor: editor, Published: day0})))
		}
		cases := map[string]struct {
			query *persistable.Query[*Article]
			want  []string
		}{
			"null":             {s.ByEditor(nil), []string{"none"}},
			"empty":            {s.ByEditor(ptr("")), []string{"empty"}},
			"null sorts first": {s.OrderedByEditor().Query(), []string{"none", "empty", "zero", "ann"}},
			"after null":       {s.OrderedByEditor().After(nil).Query(), []string{"empty", "zero", "ann"}},
			"before":           {s.OrderedByEditor().Before(ptr("a")).Query(), []string{"none", "empty", "zero"}},
		}
		for name, c := range cases {
			if diff := cmp.Diff(c.want, slugs(must[[]*Article](t)(c.query.Slice(ctx)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestEntriesOfSlices(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		a := NewArticle(Article{Section: "s", Slug: "a", Tags: []string{"go", "db", "go", ""}, Published: day0})
		b := NewArticle(Article{Section: "s", Slug: "b", Tags: []string{"db"}, Published: day0})
		check(t, s.Create(ctx, a))
		check(t, s.Create(ctx, b))
		check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "untagged", Published: day0})))
		want := func(tag string, slugs_ ...string) {
			t.Helper()
			if got := slugs(must[[]*Article](t)(s.ByTags(tag).Slice(ctx))); !slices.Equal(got, slugs_) {
				t.Errorf("by tag %q: %v, want %v", tag, got, slugs_)
			}
		}
		want("go", "a") // once, though twice in the slice
		want("db", "a", "b")
		want("", "a")
		want("d")
		if n := must[int](t)(s.OrderedByTags().Count(ctx)); n != 4 {
			t.Errorf("%d entries, want one for each distinct element: 4", n)
		}
		a.Tags = []string{"db", "new"}
		check(t, s.Save(ctx, a))
		want("go")
		want("new", "a")
		want("db", "a", "b")
		check(t, s.Delete(ctx, a.ID))
		want("db", "b")
		sound(t, s.Indexes().Verify)
	})
}

func TestEntriesOfStringsWithZeroBytes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		all := []string{"", "\x00", "\x00\x00", "\x00a", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "ab"}
		for _, number := range all {
			check(t, s.Create(ctx, s.New(Order{Number: number, Status: Pending, CreatedAt: day0, Amount: 1})))
		}
		if diff := cmp.Diff(all, numbers(must[[]*Order](t)(s.OrderedByNumber().Slice(ctx)))); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		for i, number := range all {
			if got := must[*Order](t)(s.ByNumber(ctx, number)); got.Number != number {
				t.Errorf("by %q came %q", number, got.Number)
			}
			q := s.OrderedByNumber()
			for name, c := range map[string]struct {
				q    *persistable.RangeQuery[*Order, string]
				want []string
			}{
				"From":   {q.From(number), all[i:]},
				"After":  {q.After(number), all[i+1:]},
				"To":     {q.To(number), all[:i+1]},
				"Before": {q.Before(number), all[:i]},
				"Equal":  {q.Equal(number), all[i : i+1]},
			} {
				if got := numbers(must[[]*Order](t)(c.q.Slice(ctx))); !slices.Equal(got, c.want) {
					t.Errorf("%s(%q) = %q, want %q", name, number, got, c.want)
				}
			}
		}
	})
}

func TestEntriesOfTimes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		times := []time.Time{
			time.Date(-100, 1, 1, 0, 0, 0, 0, time.UTC),
			{},
			time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
			time.Date(1677, 9, 21, 0, 12, 43, 145_224_191, time.UTC), // just before what 64 bits of nanoseconds hold
			time.Date(1677, 9, 21, 0, 12, 43, 145_224_192, time.UTC),
			time.Unix(-1, 0).UTC(), time.Unix(-1, 999_999_999).UTC(), time.Unix(0, 0).UTC(), time.Unix(0, 1).UTC(),
			day0, time.Date(2262, 4, 11, 23, 47, 16, 854_775_808, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		}
		for i := range times { // created in an order of its own
			at := (i*7 + 3) % len(times)
			check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprintf("%02d", at), Published: times[at]})))
		}
		var want []string
		for i := range times {
			want = append(want, fmt.Sprintf("%02d", i))
		}
		if diff := cmp.Diff(want, slugs(must[[]*Article](t)(s.OrderedByPublished().Slice(ctx)))); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		for i, at := range times {
			zoned := at.In(time.FixedZone("east", 3600))
			if got := slugs(must[[]*Article](t)(s.OrderedByPublished().From(zoned).Slice(ctx))); !slices.Equal(got, want[i:]) {
				t.Errorf("From(%v) = %v", at, got)
			}
			if got := slugs(must[[]*Article](t)(s.BySectionPublished("s").Before(at).Reverse().Slice(ctx))); len(got) != i {
				t.Errorf("Before(%v) = %v", at, got)
			}
		}
	})
}

func TestCoveringIndexes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		a := NewArticle(Article{Section: "go", Slug: "a", ISBN: ptr("1"), Published: day0, Body: []byte("first")})
		check(t, s.Create(ctx, a))
		read := func() {
			t.Helper()
			if diff := compare([]*Article{a}, must[[]*Article](t)(s.BySectionPublished("go").Slice(ctx))); diff != "" {
				t.Errorf("covering index (-want +got):\n%s", diff)
			}
			if diff := compare(a, must[*Article](t)(s.ByISBN(ctx, a.ISBN))); diff != "" {
				t.Errorf("covering unique index (-want +got):\n%s", diff)
			}
			sound(t, s.Indexes().Verify)
		}
		read()
		a.Body = []byte("changed, but no key is")
		check(t, s.Save(ctx, a))
		read()
		a.Body = make([]byte, 99_990) // fits under its own key, not into the unique entry
		check(t, s.Save(ctx, a))
		read()
		a.Body = make([]byte, 300_000)
		check(t, s.Save(ctx, a))
		read()
		a.ISBN = ptr("2")
		check(t, s.Save(ctx, a))
		read()
		_, err := s.ByISBN(ctx, ptr("1"))
		wantError(t, err, persistable.ErrNotFound)
		a.Body = []byte("small again")
		check(t, s.Save(ctx, a))
		read()
		check(t, s.Delete(ctx, a.ID))
		if r := sound(t, s.Indexes().Verify); r.Entries != 0 {
			t.Errorf("%d entries are left", r.Entries)
		}
	})
}

func TestPrefixesOfTypeNames(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		articles, arts := ArticleStoreOf(db), ArtStoreOf(db) // one directory
		a := NewArticle(Article{Section: "s", Slug: "a", Published: day0})
		check(t, articles.Create(ctx, a))
		for i := range 5 {
			check(t, arts.Create(ctx, &Art{ID: int32(10*i - 15), Name: "art"}))
		}
		if n := must[int](t)(articles.Scan().Count(ctx)); n != 1 {
			t.Errorf("%d articles", n)
		}
		if n := must[int](t)(arts.Scan().Count(ctx)); n != 5 {
			t.Errorf("%d arts", n)
		}
		if n := must[int](t)(arts.ByName("art").Count(ctx)); n != 5 {
			t.Errorf("%d arts by name", n)
		}
		sound(t, articles.Indexes().Verify)
		sound(t, arts.Indexes().Verify)
	})
}

// TestEntriesFromBytes: a program that has only the header of a store makes the
// entries that the generated code makes.
func TestEntriesFromBytes(t *testing.T) {
	for example, s := range map[any]*persistimpl.Schema{
		new(Order): &orderSchema, new(Article): &articleSchema, new(Art): &artSchema, new(Sale): &saleSchema, new(Player): playerSchema,
	} {
		t.Run(s.Type, func(t *testing.T) {
			dynamictest.Compare(t, dynamictest.Code{
				Lock: parsed(t, s), Indexes: s.Indexes, Encode: s.Encode, Entries: s.Entries, Covers: s.Covers,
			}, example)
		})
	}
}

func parsed(t *testing.T, s *persistimpl.Schema) *schema.Schema {
	t.Helper()
	lock, err := s.Parsed()
	check(t, err)
	return lock
}
