// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
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
	switch w.IntN(9) {
	case 8:
		return compareOn(w, "ID", f.ID, []string{"000", "007", "020", "0200", "039"}, strings.Compare, func(a *Article) string { return a.ID })
	case 6:
		return compareOn(w, "Body", f.Body, [][]byte{{}, {0}, {1, 0xff}}, bytes.Compare, func(a *Article) []byte { return a.Body })
	case 7:
		return articlePrefix(w)
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

// articlePrefix draws the beginning of a field of articles: of texts with an index and without, of
// bytes, of one that may be null, and of an element.
func articlePrefix(w *rand.Rand) wish[*Article] {
	f, text := ArticleFields, []string{"", "0", "1", "2", "a", "an", "x"}[w.IntN(7)]
	begins := func(s *string) bool { return s != nil && strings.HasPrefix(*s, text) }
	switch w.IntN(6) {
	case 5:
		return wish[*Article]{persistable.HasPrefix(f.ID, "0"+text), "ID prefix 0" + text, func(a *Article) bool { return strings.HasPrefix(a.ID, "0"+text) }}
	case 0:
		return wish[*Article]{persistable.HasPrefix(f.Slug, text), "Slug prefix " + text, func(a *Article) bool { return begins(&a.Slug) }}
	case 1:
		return wish[*Article]{persistable.HasPrefix(f.ISBN, text), "ISBN prefix " + text, func(a *Article) bool { return begins(a.ISBN) }}
	case 2:
		return wish[*Article]{persistable.HasPrefix(f.Editor, text), "Editor prefix " + text, func(a *Article) bool { return begins(a.Editor) }}
	case 3:
		start := []byte{1, 0xff, 0}[:1+w.IntN(2)]
		return wish[*Article]{persistable.HasPrefix(f.Body, string(start)), fmt.Sprint("Body prefix ", start), func(a *Article) bool { return bytes.HasPrefix(a.Body, start) }}
	}
	text = []string{"", "z"}[w.IntN(2)] // all ranges on a slice are of one element, and z is in all that are drawn
	return wish[*Article]{persistable.HasPrefix(f.Tags, text), "Tags prefix " + text, func(a *Article) bool {
		return slices.ContainsFunc(a.Tags, func(tag string) bool { return begins(&tag) })
	}}
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
		a.Body = [][]byte{nil, {0}, {1}, {1, 0xff}, {1, 0xff, 0}}[random.IntN(5)]
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
				if !strings.Contains(err.Error(), "persist:\"") && !strings.Contains(err.Error(), "(ID)") {
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
	all := must[[]T](t)(q.Slice(ctx))
	found := namesOf(all)
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
	if random.IntN(2) == 0 {
		walkPages(t, random, text, q, all, namesOf)
	} else {
		slices.Reverse(all)
		walkPages(t, random, text+" in reverse", q.Reverse(), all, namesOf)
	}
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
