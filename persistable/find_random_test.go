// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	cmplib "cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
)

// wish is a condition with its text and with the function that says of a record
// whether it fulfils it.
type wish[T any] struct {
	condition persistable.Condition[T]
	text      string
	holds     func(v T) bool
}

// wishes draws conditions; one draws a condition on one field.
type wishes[T any] struct {
	*rand.Rand
	one func(*rand.Rand) wish[T]
}

// articleWish draws a condition on a field of articles.
func articleWish(w *rand.Rand) wish[*Article] {
	f := ArticleFields
	switch w.IntN(6) {
	case 0:
		return compareOn(w, "Section", f.Section, []string{"a", "b", "c"}, strings.Compare, func(a *Article) string { return a.Section })
	case 1:
		return compareOn(w, "Slug", f.Slug, []string{"0", "1", "12", "2", "3"}, strings.Compare, func(a *Article) string { return a.Slug })
	case 2:
		return compareOn(w, "Published", f.Published, []time.Time{day0, day1, day1.AddDate(0, 0, 1)}, time.Time.Compare, func(a *Article) time.Time { return a.Published })
	case 3:
		return compareOn(w, "ISBN", f.ISBN, []*string{nil, ptr("1"), ptr("5"), ptr("6")}, compareNullable[string], func(a *Article) *string { return a.ISBN })
	case 4:
		return compareOn(w, "Editor", f.Editor, []*string{nil, ptr("ann"), ptr("bob")}, compareNullable[string], func(a *Article) *string { return a.Editor })
	}
	tags := []string{"x", "y", "z"}
	if w.IntN(3) == 0 {
		in := tags[w.IntN(2):]
		return wish[*Article]{f.Tags.In(in...), fmt.Sprint("Tags in ", in), func(a *Article) bool {
			return slices.ContainsFunc(a.Tags, func(tag string) bool { return slices.Contains(in, tag) })
		}}
	}
	tag := tags[w.IntN(3)]
	if w.IntN(2) == 0 {
		return wish[*Article]{f.Tags.From(tag), "Tags>=" + tag, func(a *Article) bool {
			return slices.ContainsFunc(a.Tags, func(one string) bool { return one >= tag })
		}}
	}
	return wish[*Article]{f.Tags.Equal(tag), "Tags=" + tag, func(a *Article) bool { return slices.Contains(a.Tags, tag) }}
}

func compareNullable[F cmplib.Ordered](a, b *F) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmplib.Compare(*a, *b)
}

// compareOn draws a comparison of a field with one of some values.
func compareOn[T, F any](w *rand.Rand, name string, field persistable.Field[T, F], values []F, compare func(a, b F) int, of func(T) F) wish[T] {
	v := values[w.IntN(len(values))]
	order := func(a T) int { return compare(of(a), v) }
	text := func(operator string) string { return fmt.Sprintf("%s%s%s", name, operator, valueText(v)) }
	switch w.IntN(9) {
	case 0:
		return wish[T]{field.From(v), text(">="), func(a T) bool { return order(a) >= 0 }}
	case 1:
		return wish[T]{field.After(v), text(">"), func(a T) bool { return order(a) > 0 }}
	case 2:
		return wish[T]{field.To(v), text("<="), func(a T) bool { return order(a) <= 0 }}
	case 3:
		return wish[T]{field.Before(v), text("<"), func(a T) bool { return order(a) < 0 }}
	case 4:
		in := []F{v, values[w.IntN(len(values))], v}
		return wish[T]{field.In(in...), text(" in ") + "," + valueText(in[1]), func(a T) bool {
			return slices.ContainsFunc(in, func(one F) bool { return compare(of(a), one) == 0 })
		}}
	}
	return wish[T]{field.Equal(v), text("="), func(a T) bool { return order(a) == 0 }}
}

func valueText(v any) string {
	switch p := v.(type) {
	case *string:
		if p == nil {
			return "null"
		}
		return strconv.Quote(*p)
	case *int64:
		if p == nil {
			return "null"
		}
		return fmt.Sprint(*p)
	}
	return fmt.Sprint(v)
}

// several draws conditions that must all hold.
func (w wishes[T]) several(most, depth int) (all []wish[T]) {
	for range 1 + w.IntN(most) {
		if depth > 0 && w.IntN(4) == 0 {
			all = append(all, w.or(depth-1))
		} else {
			all = append(all, w.one(w.Rand))
		}
	}
	return all
}

// or draws alternatives.
func (w wishes[T]) or(depth int) wish[T] {
	var conditions []persistable.Condition[T]
	var texts []string
	var holds []func(T) bool
	for range 1 + w.IntN(3) {
		c, text, all := joined(w.several(2, depth))
		conditions, texts, holds = append(conditions, persistable.And(c...)), append(texts, text), append(holds, all)
	}
	return wish[T]{persistable.Or(conditions...), "(" + strings.Join(texts, " or ") + ")", func(a T) bool {
		return slices.ContainsFunc(holds, func(holds func(T) bool) bool { return holds(a) })
	}}
}

func joined[T any](all []wish[T]) (conditions []persistable.Condition[T], text string, holds func(T) bool) {
	var texts []string
	for _, w := range all {
		conditions, texts = append(conditions, w.condition), append(texts, w.text)
	}
	return conditions, strings.Join(texts, " and "), func(a T) bool {
		return !slices.ContainsFunc(all, func(w wish[T]) bool { return !w.holds(a) })
	}
}

// randomArticles saves articles with few different values: two neighbours have one slug, in
// different sections.
func randomArticles(t *testing.T, random *rand.Rand, s *ArticleStore, n int) (all []*Article) {
	t.Helper()
	section := 0
	for i := range n {
		section = (section + 1 + random.IntN(2)) % 3
		a := &Article{ID: fmt.Sprintf("%03d", i), Section: string(rune('a' + section)), Slug: fmt.Sprint(i / 2), Published: day0.AddDate(0, 0, random.IntN(3))}
		if random.IntN(2) == 0 {
			a.ISBN = ptr(fmt.Sprint(i))
		}
		a.Editor = []*string{nil, ptr("ann"), ptr("bob")}[random.IntN(3)]
		for _, tag := range []string{"x", "y", "z"} {
			if random.IntN(2) == 0 {
				a.Tags = append(a.Tags, tag)
			}
		}
		check(t, s.Save(ctx, a))
		all = append(all, a)
	}
	return all
}

func articleIDs(all []*Article) (ids []string) {
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	return ids
}

// TestFindRandom compares what Find yields for random conditions with a filter over all
// articles: as a slice, in reverse, counted, in a loop, in pages of random sizes, up to a
// limit, and by a scan that stops again and again at its FilterLimit.
func TestFindRandom(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		s := ArticleStoreOf(db)
		all := randomArticles(t, random, s, 40)
		refused, rounds := 0, 400
		if strings.HasSuffix(t.Name(), "hostile") {
			rounds = 40
		}
		for range rounds {
			conditions, text, holds := joined(wishes[*Article]{random, articleWish}.several(3, 2))
			q, err := s.Find(conditions...)
			if errors.Is(err, persistable.ErrNoIndex) {
				refused++
				if !strings.Contains(err.Error(), "persist:\"") {
					t.Fatalf("%s: %v", text, err)
				}
				q, err = s.AllowScan().Find(conditions...)
			}
			if errors.Is(err, persistable.ErrTooManyAlternatives) {
				continue
			}
			check(t, err)
			var want []string
			for _, a := range all {
				if holds(a) {
					want = append(want, a.ID)
				}
			}
			checkFound(t, random, text, q, want, articleIDs)
			if t.Failed() {
				return
			}
		}
		if rounds == 400 && (refused == 0 || refused > rounds*9/10) {
			t.Errorf("%d of %d conditions have no index", refused, rounds)
		}
	})
}

// checkFound compares what a query yields in all ways with the names that are wanted, in
// any order.
func checkFound[T any](t *testing.T, random *rand.Rand, text string, q *persistable.Query[T], want []string, namesOf func([]T) []string) {
	t.Helper()
	found := namesOf(must[[]T](t)(q.Slice(ctx)))
	sorted := slices.Sorted(slices.Values(found))
	slices.Sort(want)
	if diff := cmp.Diff(want, sorted, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
		return
	}
	same := func(what string, got []string) {
		t.Helper()
		if diff := cmp.Diff(found, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s (-slice +got):\n%s", text, what, diff)
		}
	}
	backward := namesOf(must[[]T](t)(q.Reverse().Slice(ctx)))
	slices.Reverse(backward)
	same("in reverse", backward)
	if n := must[int](t)(q.Count(ctx)); n != len(found) {
		t.Errorf("%s: Count = %d, want %d", text, n, len(found))
	}
	var looped []T
	for v, err := range q.All(ctx) {
		check(t, err)
		looped = append(looped, v)
	}
	same("in a loop", namesOf(looped))
	same("in pages", namesOf(inPages(t, random, q, len(found))))
	switch random.IntN(4) {
	case 0:
		same("by a scan with a small FilterLimit", namesOf(stumbling(t, random, q, text)))
	case 1:
		scanned := namesOf(stumbling(t, random, q.Reverse(), text))
		slices.Reverse(scanned)
		same("by a scan with a small FilterLimit, in reverse", scanned)
	}
	n := 1 + random.IntN(4)
	if some := namesOf(must[[]T](t)(q.Limit(n).Slice(ctx))); !slices.Equal(some, found[:min(n, len(found))]) {
		t.Errorf("%s: the first %d are %v, want %v", text, n, some, found)
	}
}

// inPages reads a query in pages of random sizes, a few more records than most at most.
func inPages[T any](t *testing.T, random *rand.Rand, q *persistable.Query[T], most int) (all []T) {
	t.Helper()
	for token := ""; ; {
		p := must[persistable.Page[T]](t)(q.Limit(1+random.IntN(5)).Page(ctx, token))
		all = append(all, p.Records...)
		if token = p.Next; token == "" || len(all) > most {
			return all
		}
	}
}

// stumbling reads a query by a scan that goes on, by itself or by its token, after each
// ErrFilterLimit. Each of its calls must read on.
func stumbling[T any](t *testing.T, random *rand.Rand, q *persistable.Query[T], text string) (all []T) {
	t.Helper()
	q = q.FilterLimit(1 + random.IntN(8))
	scan := persistable.Across(q, "")
	for {
		before := scan.Token()
		var err error
		var v T
		for v, err = range scan.All(ctx) {
			if err == nil {
				all = append(all, v)
			}
		}
		if err == nil {
			return all
		}
		if wantError(t, err, persistable.ErrFilterLimit); scan.Token() == before {
			t.Fatalf("%s: the scan does not move", text)
		}
		if random.IntN(2) == 0 {
			scan = persistable.Across(q, scan.Token())
		}
	}
}

// saleWish draws a condition on a field of sales.
func saleWish(w *rand.Rand) wish[*Sale] {
	f := SaleFields
	switch w.IntN(7) {
	case 0:
		return compareOn(w, "Country", f.Country, []string{"", "at", "de"}, strings.Compare, func(v *Sale) string { return v.Country })
	case 1:
		return compareOn(w, "Amount", f.Amount, []int64{-1, 0, 1, 2}, cmplib.Compare[int64], func(v *Sale) int64 { return v.Amount })
	case 2:
		return compareOn(w, "Editor", f.Editor, []*string{nil, ptr("a"), ptr("a\x00"), ptr("b")}, compareNullable[string], func(v *Sale) *string { return v.Editor })
	case 3:
		return compareOn(w, "CreatedAt", f.CreatedAt, []time.Time{day0, day1, day1.AddDate(0, 0, 1)}, time.Time.Compare, func(v *Sale) time.Time { return v.CreatedAt })
	case 4:
		return compareOn(w, "Code", f.Code, []*string{nil, ptr("1"), ptr("2"), ptr("25")}, compareNullable[string], func(v *Sale) *string { return v.Code })
	case 5:
		return compareOn(w, "Discount", f.Discount, []*int64{nil, ptr(int64(-1)), ptr(int64(0)), ptr(int64(300))}, compareNullable[int64], func(v *Sale) *int64 { return v.Discount })
	}
	return compareOn(w, "Status", f.Status, []OrderStatus{0, 1, 2}, cmplib.Compare[OrderStatus], func(v *Sale) OrderStatus { return v.Status })
}

// randomSales creates sales with few different values.
func randomSales(t *testing.T, random *rand.Rand, s *SaleStore, n int) (all []*Sale) {
	t.Helper()
	for i := range n {
		v := &Sale{
			ID: fmt.Sprintf("%026d", i), Status: OrderStatus(random.IntN(3)), Country: []string{"", "at", "de"}[random.IntN(3)],
			Amount: int64(random.IntN(4) - 1), CreatedAt: day0.AddDate(0, 0, random.IntN(3)),
			Editor: []*string{nil, ptr(""), ptr("a"), ptr("a\x00"), ptr("b")}[random.IntN(5)],
		}
		if random.IntN(2) == 0 {
			v.Code = ptr(fmt.Sprint(i))
		}
		if random.IntN(2) == 0 {
			v.Discount = ptr([]int64{-1, 0, 300}[random.IntN(3)])
		}
		check(t, s.Save(ctx, v))
		all = append(all, v)
	}
	return all
}

func saleIDs(all []*Sale) (ids []string) {
	for _, v := range all {
		ids = append(ids, v.ID)
	}
	return ids
}

// TestFindRandomSales is [TestFindRandom] for a type with a partial index, fields in
// descending order, a unique index of them, chosen copies and a scattered index.
func TestFindRandomSales(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		s := SaleStoreOf(db)
		all := randomSales(t, random, s, 40)
		rounds := 400
		if strings.HasSuffix(t.Name(), "hostile") {
			rounds = 40
		}
		for i := range rounds {
			drawn := wishes[*Sale]{random, saleWish}.several(3, 2)
			if i%4 == 0 {
				drawn = append(drawn, wishesOfPartial(random)...)
			}
			conditions, text, holds := joined(drawn)
			q, err := s.AllowScan().Find(conditions...)
			if errors.Is(err, persistable.ErrTooManyAlternatives) {
				continue
			}
			check(t, err)
			var want []string
			for _, v := range all {
				if holds(v) {
					want = append(want, v.ID)
				}
			}
			if checkFound(t, random, text, q, want, saleIDs); t.Failed() {
				return
			}
		}
	})
}

// wishesOfPartial draws conditions near the predicate of the partial index.
func wishesOfPartial(random *rand.Rand) []wish[*Sale] {
	f, least := SaleFields, int64(random.IntN(3)-1)
	conditions := []wish[*Sale]{
		{f.Status.Equal(1), "Status=1", func(v *Sale) bool { return v.Status == 1 }},
		{f.Amount.From(least), fmt.Sprint("Amount>=", least), func(v *Sale) bool { return v.Amount >= least }},
		{f.Editor.From(nil), "Editor>=null", func(*Sale) bool { return true }},
	}
	if random.IntN(2) == 0 {
		conditions[1] = wish[*Sale]{f.Amount.After(least), fmt.Sprint("Amount>", least), func(v *Sale) bool { return v.Amount > least }}
	}
	return slices.Clip(conditions)
}
