// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
)

// errStop is why a test ends the context of a scan.
var errStop = errors.New("the test stops the scan")

// readByTokens reads a scan in pieces of random lengths, which end with a break or with an
// error. Each piece goes on by the token of the one before, on a scan that resume makes, or
// on the same one.
func readByTokens[T any](t *testing.T, random *rand.Rand, s *persistable.Scan[T], resume func(token string) *persistable.Scan[T]) (all []T) {
	t.Helper()
	for {
		ended := true
		stoppable, stop := context.WithCancelCause(ctx)
		left, byError := random.IntN(8), random.IntN(2) == 0
		for v, err := range s.All(stoppable) {
			if err != nil {
				wantError(t, err, errStop)
				ended = false
				break
			}
			all = append(all, v)
			if left--; left < 0 && byError {
				stop(errStop)
			} else if left < 0 {
				ended = false
				break
			}
		}
		stop(nil)
		if ended {
			break
		}
		if random.IntN(4) > 0 {
			s = resume(s.Token())
		}
	}
	for range resume(s.Token()).All(ctx) {
		t.Fatal("the token of the end yields a record")
	}
	return all
}

// TestScanParts reads random queries across transactions, in parts, each by its own
// goroutine, that stop and go on by tokens in another DB. The engine divides the keys at random
// places: at records, within their chunks, within entries. One after the other, the
// parts are what Slice returns.
func TestScanParts(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		engine := randomSplits{db.Engine(), random}
		s, again := ArticleStoreOf(open(t, engine)), ArticleStoreOf(db)
		largeArticles(t, random, s, 30)
		divided, queries := 0, 24
		if strings.HasSuffix(t.Name(), "hostile") {
			queries = 8
		}
		for i := range queries {
			query := scanQuery(random, i)
			q, other := query(s), query(again)
			most := 1 + random.IntN(12)
			if i == 0 {
				most = 12 // of all records
			}
			parts := must[[]*persistable.Scan[*Article]](t)(persistable.Across(q, "").Split(ctx, most))
			divided = max(divided, len(parts))
			got := make([][]*Article, len(parts))
			var group sync.WaitGroup
			for i, part := range parts {
				own := rand.New(rand.NewPCG(random.Uint64(), 0))
				group.Go(func() {
					got[i] = readByTokens(t, own, part, func(token string) *persistable.Scan[*Article] {
						return persistable.Across(other, token)
					})
				})
			}
			group.Wait()
			want := slugs(must[[]*Article](t)(q.Slice(ctx)))
			if diff := cmp.Diff(want, slugs(slices.Concat(got...)), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("query %d in %d parts (-slice +parts):\n%s", i, len(parts), diff)
			}
		}
		if divided < 2 {
			t.Error("no query was divided")
		}
	})
}

// TestScanPartsOfKinds divides parts again, of records with versions, of a scattered index, of
// rows and of a unique index, after some of the records were read.
func TestScanPartsOfKinds(t *testing.T) {
	random := seed.Rand(t)
	db := open(t, randomSplits{enginetest.Open(t), random})
	notes, sales := NoteStoreOf(db), SaleStoreOf(db)
	for id := range int64(30) {
		check(t, notes.Save(ctx, &Note{ID: id - 40, Text: "text"}))
		check(t, sales.Save(ctx, &Sale{ID: fmt.Sprintf("%02d", id), Country: "at", Amount: id / 2, Discount: ptr(id % 5), Code: ptr(fmt.Sprint("c", id)), CreatedAt: day0}))
	}
	discounts := found[*Sale](t)(sales.Find(SaleFields.Discount.From(ptr(int64(1)))))
	for _, reverse := range []bool{false, true} {
		checkDivided(t, persistable.Across(turned(notes.Scan(), reverse), ""), must[[]*Note](t)(turned(notes.Scan(), reverse).Slice(ctx)))
		checkDivided(t, persistable.Across(turned(discounts, reverse), ""), must[[]*Sale](t)(turned(discounts, reverse).Slice(ctx)))
		checkDivided(t, persistable.Across(turned(sales.OrderedByCode().Query(), reverse), ""), must[[]*Sale](t)(turned(sales.OrderedByCode().Query(), reverse).Slice(ctx)))
	}
	rows := sales.ByCountryAmountRows("at").From(2).Reverse().Query()
	checkDivided(t, persistable.AcrossRows(rows, ""), must[[]SaleByCountryAmountRow](t)(rows.Slice(ctx)))
}

// TestScanPartsOfAnotherPlan divides a query with a first plan that needs an index that is not
// built. The parts belong to the plan that was used, even when the index is ready.
func TestScanPartsOfAnotherPlan(t *testing.T) {
	random := seed.Rand(t)
	db := open(t, randomSplits{enginetest.Open(t), random})
	old := version(db, editor)
	for i := range 30 {
		a := &Article{ID: fmt.Sprintf("%02d", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}
		if i%2 == 0 {
			a.Tags = []string{"x"}
		}
		check(t, old.Save(ctx, a))
	}
	schema := articleSchemaWith(indexOfArticles(editor), indexOfArticles(tags))
	schema.Values = articleSchema.Values
	schema.Entries = func(i int, e *index.Entries, v any) { articleSchema.Entries([]int{editor, tags}[i], e, v) }
	s := articlesOf(db, schema)
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x")))
	scan := persistable.Across(q, "")
	want := must[[]*Article](t)(q.Slice(ctx))
	parts := must[[]*persistable.Scan[*Article]](t)(scan.Split(ctx, 4))
	checkDivided(t, scan, want)
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	var got []*Article
	for _, part := range parts {
		got = append(got, readSome(t, persistable.Across(q, part.Token()), len(want)+1)...)
	}
	if diff := compare(want, got); diff != "" || len(want) != 15 || len(parts) < 2 {
		t.Errorf("%d parts (-slice +parts):\n%s", len(parts), diff)
	}
	if e := must[*persistable.Explanation](t)(q.Explain(ctx)); e.Form != "an intersection" {
		t.Errorf("the first plan is %v", e)
	}
}

func turned[T any](q *persistable.Query[T], reverse bool) *persistable.Query[T] {
	if reverse {
		return q.Reverse()
	}
	return q
}

// checkDivided reads the first three of a scan, then the rest of it in parts, whose first
// one is divided again.
func checkDivided[T any](t *testing.T, s *persistable.Scan[T], want []T) {
	t.Helper()
	got := readSome(t, s, 3)
	parts := must[[]*persistable.Scan[T]](t)(s.Split(ctx, 5))
	inner := must[[]*persistable.Scan[T]](t)(parts[0].Split(ctx, 3))
	for _, part := range slices.Concat(inner, parts[1:]) {
		got = append(got, readSome(t, part, len(want)+1)...)
	}
	if diff := compare(want, got); diff != "" {
		t.Errorf("in %d and %d parts (-slice +parts):\n%s", len(parts), len(inner), diff)
	}
	if len(parts) < 2 {
		t.Errorf("%d records are one part", len(want))
	}
}

// readSome returns at most n records of a scan.
func readSome[T any](t *testing.T, s *persistable.Scan[T], n int) (all []T) {
	t.Helper()
	for v, err := range s.All(ctx) {
		check(t, err)
		if all = append(all, v); len(all) == n {
			break
		}
	}
	return all
}

// TestSplitSizes divides records where the engine says: the parts have about the same
// number of records of the same size.
func TestSplitSizes(t *testing.T) {
	unscattered(t)
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	for i := range 40 {
		check(t, s.CreateWithID(ctx, fmt.Sprintf("%02d", i), &Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, 40_000)}))
	}
	var sizes []int
	for _, part := range must[[]*persistable.Scan[*Article]](t)(persistable.Across(s.Scan(), "").Split(ctx, 4)) {
		sizes = append(sizes, len(readSome(t, part, 41)))
	}
	if len(sizes) != 4 || slices.Min(sizes) < 7 || slices.Max(sizes) > 14 {
		t.Errorf("parts of %v records", sizes)
	}
}

// TestSplitIntoVeryMany: a number of parts that overflows when it is multiplied divides as any
// large one does.
func TestSplitIntoVeryMany(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	for i := range 3 {
		check(t, s.CreateWithID(ctx, fmt.Sprint(i), &Article{Section: "s", Slug: fmt.Sprint(i), Published: day0}))
	}
	for _, n := range []int{1 << 61, 1 << 62, math.MaxInt} {
		read := 0
		for _, part := range must[[]*persistable.Scan[*Article]](t)(persistable.Across(s.Scan(), "").Split(ctx, n)) {
			read += len(readSome(t, part, 4))
		}
		if read != 3 {
			t.Errorf("%d parts have %d records", n, read)
		}
	}
}

// largeArticles creates articles of which every fifth has two or three chunks.
func largeArticles(t *testing.T, random *rand.Rand, s *ArticleStore, n int) {
	t.Helper()
	for i := range n {
		a := Article{Section: string(rune('a' + random.IntN(3))), Slug: fmt.Sprint(i), Published: day0.AddDate(0, 0, random.IntN(3))}
		a.Editor = []*string{nil, ptr("ann"), ptr("bob")}[random.IntN(3)]
		a.Tags = []string{"x", "y", "z"}[random.IntN(3):]
		if i%5 == 0 {
			a.Body = make([]byte, 100_000*(1+random.IntN(2)))
		}
		check(t, s.Create(ctx, NewArticle(a)))
	}
}

// scanQuery draws a query that needs no more than the store: of all records, of an
// index with bounds, or of conditions that take each form of a plan.
func scanQuery(random *rand.Rand, i int) func(s *ArticleStore) *persistable.Query[*Article] {
	reverse, editor, tag, day := random.IntN(2) == 0, []*string{ptr("ann"), nil}[random.IntN(2)], []string{"x", "y", "z"}[random.IntN(3)], day0.AddDate(0, 0, random.IntN(3))
	f := ArticleFields
	conditions := [][]persistable.Condition[*Article]{
		{f.Published.From(day), f.Section.After("a")},
		{f.Editor.Equal(editor), f.Tags.Equal(tag)},
		{f.Tags.From(tag)},
		{f.Published.In(day, day2)},
		{persistable.Or(f.Editor.Equal(editor), f.Published.From(day))},
	}
	return func(s *ArticleStore) *persistable.Query[*Article] {
		var q *persistable.Query[*Article]
		switch n := i % (3 + len(conditions)); n {
		case 0:
			q = s.Scan()
		case 1:
			q = s.OrderedByTags().From(tag).Query()
		case 2:
			q = s.OrderedByPublished().To(day).Query()
		default:
			q, _ = s.Find(conditions[n-3]...)
		}
		if reverse {
			q = q.Reverse()
		}
		return q
	}
}
