// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestKnownNumbersTakeOneRound reads more than the first batch of a read holds for a caller
// that may stop early (4 KB). Where the number of records is known, or all are wanted, one
// batch has them.
func TestKnownNumbersTakeOneRound(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	articles := ArticleStoreOf(open(t, counter))
	someArticles(t, articles, 50, 300)

	for name, run := range map[string]func() error{
		"a limit":                 func() error { return second(articles.Scan().Limit(40).Slice(ctx)) },
		"a limit, in reverse":     func() error { return second(articles.Scan().Reverse().Limit(40).Slice(ctx)) },
		"a limit, one by one":     func() error { return drain(articles.Scan().Limit(40).All(ctx)) },
		"a page":                  func() error { return second(articles.Scan().Limit(40).Page(ctx, "")) },
		"all":                     func() error { return second(articles.Scan().Slice(ctx)) },
		"all of a covering index": func() error { return second(articles.BySectionPublished("s").Slice(ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			counts, err := counter.Measure(run)
			check(t, err)
			if counts.Rounds != 1 || counts.Batches != 1 {
				t.Errorf("it cost %v, want one round and one batch", counts)
			}
		})
	}
}

// TestLimitsOfChunkedRecords reads records with several keys, of which the engine counts each
// against a limit.
func TestLimitsOfChunkedRecords(t *testing.T) {
	articles := ArticleStoreOf(open(t, enginetest.Open(t)))
	someArticles(t, articles, 3, 10)
	someArticles(t, articles, 3, 150_000)
	all := must[[]*Article](t)(articles.Scan().Slice(ctx))
	if len(all) != 6 {
		t.Fatalf("there are %d articles", len(all))
	}
	for _, reverse := range []bool{false, true} {
		q := articles.Scan()
		if reverse {
			q = q.Reverse()
			slices.Reverse(all)
		}
		for limit := 1; limit <= len(all)+1; limit++ {
			got := must[[]*Article](t)(q.Limit(limit).Slice(ctx))
			if want := all[:min(limit, len(all))]; !slices.EqualFunc(got, want, sameArticle) {
				t.Errorf("limit %d, reverse %t: got %d articles, want the first %d", limit, reverse, len(got), len(want))
			}
			var paged []*Article
			for token := ""; ; {
				page := must[persistable.Page[*Article]](t)(q.Limit(limit).Page(ctx, token))
				paged = append(paged, page.Records...)
				if token = page.Next; token == "" {
					break
				}
			}
			if !slices.EqualFunc(paged, all, sameArticle) {
				t.Errorf("pages of %d, reverse %t: got %d articles, want all %d", limit, reverse, len(paged), len(all))
			}
		}
	}
}

func sameArticle(a, b *Article) bool { return a.ID == b.ID && bytes.Equal(a.Body, b.Body) }

// someArticles creates n articles with bodies of that size.
func someArticles(t testing.TB, articles *ArticleStore, n, size int) {
	t.Helper()
	for i := range n {
		body := make([]byte, size)
		body[0] = byte(i + 1)
		check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(size, i), Published: day0, Body: body})))
	}
}
