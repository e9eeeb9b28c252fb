// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/pagetoken"
	"github.com/kazahana-db/kazahana/tuple"
)

// pages reads all pages of a query.
func pages(t testing.TB, q *persistable.Query[*Order]) (sizes []int, all []string) {
	t.Helper()
	for token := ""; ; {
		page := must[persistable.Page[*Order]](t)(q.Page(ctx, token))
		sizes = append(sizes, len(page.Records))
		all = append(all, numbers(page.Records)...)
		if token = page.Next; token == "" {
			return sizes, all
		}
		if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(token) {
			t.Fatalf("the token %q does not fit into a URL as it is", token)
		}
	}
}

func TestPages(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 12)
		cases := map[string]struct {
			query *persistable.Query[*Order]
			sizes []int
		}{
			"uneven":     {s.OrderedByNumber().Limit(5).Query(), []int{5, 5, 2}},
			"even":       {s.OrderedByNumber().Limit(4).Query(), []int{4, 4, 4}},
			"one page":   {s.OrderedByNumber().Limit(12).Query(), []int{12}},
			"no limit":   {s.OrderedByNumber().Query(), []int{12}},
			"reverse":    {s.OrderedByNumber().Reverse().Limit(7).Query(), []int{7, 5}},
			"bounded":    {s.OrderedByNumber().After("02").Before("10").Limit(3).Query(), []int{3, 3, 1}},
			"by id":      {s.Scan().Limit(5), []int{5, 5, 2}},
			"by id back": {s.Scan().Reverse().Limit(5), []int{5, 5, 2}},
			"compound":   {s.ByStatusCreatedAt(Paid).Limit(3).Query(), []int{3, 1}},
			"nothing":    {s.ByStatus(99), []int{0}},
		}
		for name, c := range cases {
			sizes, all := pages(t, c.query)
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("%s: pages of %v, want %v", name, sizes, c.sizes)
			}
			if diff := cmp.Diff(numbers(must[[]*Order](t)(c.query.Limit(1_000_000).Slice(ctx))), append([]string{}, all...)); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestPageSize(t *testing.T) {
	engine := enginetest.Open(t)
	db := openWith(t, engine, persistable.Options{PageSize: 3})
	s := OrderStoreOf(db, "t")
	someOrders(t, s, 7)
	if sizes, _ := pages(t, s.OrderedByNumber().Query()); !slices.Equal(sizes, []int{3, 3, 1}) {
		t.Errorf("pages of %v", sizes)
	}
}

func TestPageBehindADeletedRecord(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		all := someOrders(t, s, 6)
		for _, q := range []*persistable.Query[*Order]{s.OrderedByNumber().Limit(3).Query(), s.Scan().Limit(3)} {
			page := must[persistable.Page[*Order]](t)(q.Page(ctx, ""))
			check(t, s.Delete(ctx, page.Records[2].ID))
			next := must[persistable.Page[*Order]](t)(q.Page(ctx, page.Next))
			if got := numbers(next.Records); !slices.Equal(got, []string{"03", "04", "05"}) {
				t.Errorf("the second page is %v", got)
			}
			check(t, s.Create(ctx, all[2]))
		}
	})
}

// TestEmptyPages: where the records of a page are gone by the time that it is read, the page is
// empty, and leads to the records that are left.
func TestEmptyPages(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		for name, query := range map[string]func() *persistable.Query[*Order]{
			"an index": func() *persistable.Query[*Order] { return s.OrderedByNumber().Limit(2).Query() },
			"ids":      func() *persistable.Query[*Order] { return s.Scan().Limit(2) },
			"reverse":  func() *persistable.Query[*Order] { return s.Scan().Reverse().Limit(2) },
			"lanes": func() *persistable.Query[*Order] {
				return found[*Order](t)(s.Find(OrderFields.Status.In(0, 1, 2))).Limit(2)
			},
		} {
			must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{}))
			someOrders(t, s, 5)
			q := query()
			read := func(token string) persistable.Page[*Order] {
				return must[persistable.Page[*Order]](t)(q.Page(ctx, token))
			}
			first := read("")
			second := read(first.Next)
			for o, err := range q.Limit(persistable.NoLimit).All(ctx) {
				if check(t, err); !slices.Contains(numbers(first.Records), o.Number) {
					check(t, s.Delete(ctx, o.ID))
				}
			}
			gone := read(first.Next)
			if len(gone.Records) > 0 || gone.Next != "" {
				t.Errorf("%s: after the end: %v, %q", name, numbers(gone.Records), gone.Next)
			}
			if back := read(gone.Previous); !slices.Equal(numbers(back.Records), numbers(first.Records)) || back.Previous != "" {
				t.Errorf("%s: back from the end: %v, want %v", name, numbers(back.Records), numbers(first.Records))
			}
			for _, o := range first.Records {
				check(t, s.Delete(ctx, o.ID))
			}
			someOrders(t, s, 1)
			if none := read(second.Previous); name == "an index" && (len(none.Records) != 1 || none.Previous != "" || none.Next == "") {
				t.Errorf("%s: before the second page: %v", name, numbers(none.Records))
			}
		}
	})
}

// TestPagesOfLargeRecords: records with chunks are on one page each, in both directions, and with a
// record as the end of a page.
func TestPagesOfLargeRecords(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArticleStoreOf(db)
	var all []*Article
	for i := range 5 {
		a := &Article{ID: fmt.Sprint("a", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, 250_000)}
		check(t, s.Save(ctx, a))
		all = append(all, a)
	}
	for name, q := range map[string]*persistable.Query[*Article]{
		"all": s.Scan(), "by a condition": found[*Article](t)(s.AllowScan().Find(ArticleFields.Body.After(nil))), "by the id": found[*Article](t)(s.Find(ArticleFields.ID.From("a"))),
	} {
		for _, reverse := range []bool{false, true} {
			q, want := q, slices.Clone(all)
			if reverse {
				q = q.Reverse()
				slices.Reverse(want)
			}
			w := &pageWalk[*Article]{T: t, text: fmt.Sprint(name, ", in reverse: ", reverse), query: q, all: want, namesOf: articleIDs}
			w.read("", 2)
			w.read(w.page.Next, 2)
			w.read(w.page.Next, 2)
			w.read(w.page.Previous, 2)
			w.read(w.page.Previous, 1)
			w.read(w.page.Next, 3)
			w.goTo(3, 2, true)
			w.goTo(2, 2, false)
			w.read(w.page.Previous, 3)
		}
	}
	if _, err := persistable.PageAfter(ctx, found[*Article](t)(s.Find(ArticleFields.ID.After("a2"))), all[1]); !errors.Is(err, persistable.ErrNotFound) {
		t.Errorf("a page at a record outside of the range: %v", err)
	}
	page := must[persistable.Page[*Article]](t)(s.Scan().Limit(math.MaxInt32).Page(ctx, ""))
	if len(page.Records) != 5 || page.Next != "" {
		t.Errorf("a page of the largest size has %d records", len(page.Records))
	}
}

// TestPageAtARecord: a record that does not fit the query, or is none, is an error; a stale one counts as it is.
func TestPageAtARecord(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	all := someOrders(t, s, 9)
	q := s.ByStatusCreatedAt(Paid).Limit(2).Query()
	for what, o := range map[string]*Order{"another status": all[0], "no values": {ID: 1}} {
		_, err := persistable.PageAfter(ctx, q, o)
		if wantError(t, err, persistable.ErrNotFound); !strings.Contains(err.Error(), "does not fit the query") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := persistable.PageBefore(ctx, q, nil); err == nil {
		t.Error("a page before no record")
	}
	paid := must[[]*Order](t)(q.Limit(persistable.NoLimit).Slice(ctx))
	check(t, s.Delete(ctx, paid[0].ID))
	page := must[persistable.Page[*Order]](t)(persistable.PageAfter(ctx, q, paid[0]))
	if got := numbers(page.Records); !slices.Equal(got, numbers(paid[1:3])) {
		t.Errorf("after a deleted record: %v", got)
	}
	none := OrderStoreOf(db, "nobody").Scan()
	if page := must[persistable.Page[*Order]](t)(persistable.PageAfter(ctx, none, all[0])); len(page.Records) > 0 || page.Next != "" {
		t.Errorf("a page of a store that does not exist: %+v", page)
	}
	tags := ArticleStoreOf(db)
	for i, list := range [][]string{{"a"}, {"b", "d"}, {"c"}, {"e"}} {
		check(t, tags.Save(ctx, &Article{ID: string(rune('0' + i)), Section: "s", Slug: string(rune('0' + i)), Published: day0, Tags: list}))
	}
	second := must[*Article](t)(tags.Get(ctx, "1"))
	byTag := tags.OrderedByTags().Query()
	after := must[persistable.Page[*Article]](t)(persistable.PageAfter(ctx, byTag, second))
	before := must[persistable.Page[*Article]](t)(persistable.PageBefore(ctx, byTag, second))
	if a, b := articleIDs(after.Records), articleIDs(before.Records); !slices.Equal(a, []string{"3"}) || !slices.Equal(b, []string{"0"}) {
		t.Errorf("of a record with two entries: after %v, before %v", a, b)
	}
}

func TestTokensAreBound(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := OrderStoreOf(db, "t")
	someOrders(t, s, 9)
	someOrders(t, OrderStoreOf(db, "u"), 9)
	q := s.ByStatusCreatedAt(Pending).Limit(1)
	token := must[persistable.Page[*Order]](t)(q.Page(ctx, "")).Next
	if token == "" {
		t.Fatal("no token")
	}
	must[persistable.Page[*Order]](t)(q.Page(ctx, token))
	// The same database opened again knows its tokens, and the page size may differ.
	again := OrderStoreOf(open(t, engine), "t")
	must[persistable.Page[*Order]](t)(again.ByStatusCreatedAt(Pending).Limit(2).Page(ctx, token))

	elsewhere := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, elsewhere, 9)
	for name, other := range map[string]*persistable.Query[*Order]{
		"other value":     s.ByStatusCreatedAt(Paid).Query(),
		"other bound":     s.ByStatusCreatedAt(Pending).From(day0).Query(),
		"other direction": s.ByStatusCreatedAt(Pending).Reverse().Query(),
		"other index":     s.ByStatus(Pending),
		"by id":           s.Scan(),
		"other tenant":    OrderStoreOf(db, "u").ByStatusCreatedAt(Pending).Query(),
		"other database":  elsewhere.ByStatusCreatedAt(Pending).Query(),
	} {
		if _, err := other.Page(ctx, token); err == nil {
			t.Errorf("%s: the token was accepted", name)
		} else {
			wantError(t, err, persistable.ErrBadToken)
		}
	}
	back := must[persistable.Page[*Order]](t)(q.Page(ctx, token)).Previous
	for name, other := range map[string]*persistable.Query[*Order]{"other value": s.ByStatusCreatedAt(Paid).Query(), "other direction": s.ByStatusCreatedAt(Pending).Reverse().Query()} {
		_, err := other.Page(ctx, back)
		if wantError(t, err, persistable.ErrBadToken); t.Failed() {
			t.Fatal(name)
		}
	}
	for scan, err := range persistable.Across(q.Query(), back).All(ctx) {
		if wantError(t, err, persistable.ErrBadToken); scan != nil {
			t.Error("a scan goes on from the token of a page")
		}
	}
	raw := must[[]byte](t)(base64.RawURLEncoding.DecodeString(token))
	for i := range raw {
		forged := slices.Clone(raw)
		forged[i] ^= 1
		_, err := q.Page(ctx, base64.RawURLEncoding.EncodeToString(forged))
		wantError(t, err, persistable.ErrBadToken)
	}
	for _, text := range []string{"x", "!", token + "A", token[:len(token)-1], "AQ", " " + token} {
		_, err := q.Page(ctx, text)
		wantError(t, err, persistable.ErrBadToken)
	}
}

func FuzzPageToken(f *testing.F) {
	s := OrderStoreOf(open(f, enginetest.Open(f)), "t")
	someOrders(f, s, 3)
	q := s.OrderedByNumber().Limit(1)
	token := must[persistable.Page[*Order]](f)(q.Page(ctx, "")).Next
	f.Add(token)
	f.Add("AQEx")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := q.Page(ctx, text); err == nil && text != "" && text != token {
			t.Errorf("the token %q was accepted", text)
		}
	})
}

// TestTokensOfOldVersions makes tokens as versions of the library did that gave a plan its
// number, and bound the token to all plans. A query of one alternative goes on by them.
func TestTokensOfOldVersions(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, f := articlesBy(db, editor, published), ArticleFields
	articlesOfEditors(t, s, 12)
	var key []byte
	for k, value := range dump(t, db) {
		if strings.Contains(k, "page token key") {
			key = value
		}
	}
	ann, date := tuple.AppendString(nil, "ann"), articleSchema.Values("Published", nil, &Article{Published: day0})
	scope := pagetoken.AppendFramed(pagetoken.AppendFramed(nil, []byte("articles")), []byte("Article"))
	scope = append(scope, 0)
	plan := func(i int, value []byte) {
		d := articleSchema.Indexes[i]
		scope = pagetoken.AppendFramed(scope, []byte(d.KeyName()+":"+d.Layout()))
		scope = index.Bounds{}.Equal(value).AppendBytes(scope)
	}
	filter := func() {
		scope = pagetoken.AppendFramed(append(scope, 'A', 'C', 0), []byte("Editor"))
		scope = pagetoken.AppendFramed(scope, ann)
		scope = pagetoken.AppendFramed(append(scope, 'C', 0), []byte("Published"))
		scope = pagetoken.AppendFramed(scope, date)
	}
	plan(editor, ann) // the intersection of both, which leaves nothing to the filter
	scope = append(scope, 'B')
	plan(published, date)
	plan(editor, ann)
	filter()
	plan(published, date)
	filter()
	token := func(number byte, position []byte) string {
		return pagetoken.Seal(key, scope, pagetoken.Position{Format: pagetoken.Numbered, Plan: []byte{number}, Key: position})
	}
	q := found[*Article](t)(s.Find(f.Editor.Equal(ptr("ann")), f.Published.Equal(day0)))
	id := tuple.AppendString(nil, "04")
	for number, position := range map[byte][]byte{1: id, 2: slices.Concat(ann, id), 3: slices.Concat(date, id)} {
		page := must[persistable.Page[*Article]](t)(q.Page(ctx, token(number, position)))
		if got := strings.Join(articleIDs(page.Records), " "); got != "08 10" {
			t.Errorf("plan %d goes on with %s", number, got)
		}
	}
	_, err := found[*Article](t)(s.Find(f.Editor.In(ptr("ann"), nil), f.Published.Equal(day0))).Page(ctx, token(1, id))
	if wantError(t, err, persistable.ErrBadToken); !strings.Contains(err.Error(), "an earlier version") {
		t.Error(err)
	}
}
