// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"math"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

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
		var none *persistable.NoIndexError
		if _, err := s.Find(c[0]); !errors.As(err, &none) {
			t.Errorf("%s on the unique field: %v, want a *NoIndexError", name, err)
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
