// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
)

// pageWalk goes through the pages of a query forward and backward. The current page has the
// records of all from begin to end.
type pageWalk[T any] struct {
	*testing.T
	text    string
	query   *persistable.Query[T]
	all     []T
	namesOf func([]T) []string

	page       persistable.Page[T]
	begin, end int
}

// walkPages goes some random steps through the pages of a query, which has these records: to the
// next page or the one before, and to pages at a record. Each page has another size.
func walkPages[T any](t *testing.T, random *rand.Rand, text string, q *persistable.Query[T], all []T, namesOf func([]T) []string) {
	t.Helper()
	w := &pageWalk[T]{T: t, text: text, query: q, all: all, namesOf: namesOf}
	w.read("", 1+random.IntN(5))
	for range 6 {
		if t.Failed() {
			return
		}
		n := 1 + random.IntN(5)
		switch {
		case random.IntN(4) == 0 && len(all) > 0:
			w.goTo(random.IntN(len(all)), n, random.IntN(2) == 0)
		case random.IntN(2) == 0 && w.page.Next != "":
			w.read(w.page.Next, n)
		case w.page.Previous != "":
			w.read(w.page.Previous, n)
		}
	}
}

// read reads the page of a token of the current page.
func (w *pageWalk[T]) read(token string, n int) {
	w.Helper()
	begin, end := 0, min(n, len(w.all))
	switch {
	case token == "":
	case token == w.page.Next:
		begin, end = w.end, min(w.end+n, len(w.all))
	default:
		begin, end = max(w.begin-n, 0), w.begin
	}
	page := must[persistable.Page[T]](w.T)(w.query.Limit(n).Page(ctx, token))
	w.check(page, begin, end, token == "" || begin == 0, end == len(w.all))
}

// goTo reads the page after a record, or before it.
func (w *pageWalk[T]) goTo(i, n int, before bool) {
	w.Helper()
	q := w.query.Limit(n)
	if before {
		page := must[persistable.Page[T]](w.T)(persistable.PageBefore(ctx, q, w.all[i]))
		w.check(page, max(i-n, 0), i, i <= n, false)
		return
	}
	page := must[persistable.Page[T]](w.T)(persistable.PageAfter(ctx, q, w.all[i]))
	end := min(i+1+n, len(w.all))
	w.check(page, i+1, end, false, end == len(w.all))
}

// check makes a page the current one if it is right.
func (w *pageWalk[T]) check(page persistable.Page[T], begin, end int, first, last bool) {
	w.Helper()
	if got, want := w.namesOf(page.Records), w.namesOf(w.all[begin:end]); !slices.Equal(got, want) {
		w.Errorf("%s: the page from %d to %d has %v, want %v", w.text, begin, end, got, want)
	}
	if isFirst, isLast := page.Previous == "", page.Next == ""; isFirst != first || isLast != last {
		w.Errorf("%s: the page from %d to %d of %d is the first: %t, the last: %t; want %t, %t", w.text, begin, end, len(w.all), isFirst, isLast, first, last)
	}
	w.page, w.begin, w.end = page, begin, end
}
