// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// kindIndex is an index of any kind over articles.
type kindIndex struct {
	index.Definition
	entries func(e *index.Entries, a *Article)
}

// An index of each kind that a build has to count, and of values. Two tags of an
// article that are equal count once.
var (
	countBySection = kindIndex{
		index.Definition{Name: "Article_count_Section", Kind: index.Count, Fields: []string{"Section"}, Signature: "string"},
		func(e *index.Entries, a *Article) { e.End(index.AppendString(e.Begin(), a.Section)) },
	}
	countByTags = kindIndex{
		index.Definition{Name: "Article_count_Tags", Kind: index.Count, Fields: []string{"Tags"}, Signature: "[]string"},
		func(e *index.Entries, a *Article) {
			for _, tag := range a.Tags {
				e.End(index.AppendString(e.Begin(), tag))
			}
		},
	}
	sumBySection = kindIndex{
		index.Definition{Name: "Article_sum_Published_Section", Kind: index.Sum, Fields: []string{"Section"}, Of: "Published", Signature: "string,int"},
		func(e *index.Entries, a *Article) {
			e.EndAmount(index.AppendString(e.Begin(), a.Section), index.IntAmount(amountOf(a)))
		},
	}
	valueOfTags = kindIndex{
		index.Definition{Name: "Article_Tags", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string"},
		func(e *index.Entries, a *Article) { articleSchema.Entries(tags, e, a) },
	}
	uniqueSlug = kindIndex{
		index.Definition{Name: "Article_Slug", Fields: []string{"Slug"}, Signature: "string", Unique: true},
		func(e *index.Entries, a *Article) { e.End(index.AppendString(e.Begin(), a.Slug)) },
	}
	rankBySection = kindIndex{
		index.Definition{Name: "Article_rank_Section_Published", Kind: index.Rank, Fields: []string{"Section", "Published"}, Signature: "string,int"},
		func(e *index.Entries, a *Article) {
			e.End(index.AppendInt(index.AppendString(e.Begin(), a.Section), amountOf(a)))
		},
	}
	versions = kindIndex{
		index.Definition{Name: "Article_version", Kind: index.Version},
		func(e *index.Entries, _ *Article) { e.End(e.Begin()) },
	}
	allKinds = []kindIndex{countBySection, countByTags, sumBySection, valueOfTags, uniqueSlug, rankBySection, versions}
)

// amountOf is what an article adds to a sum.
func amountOf(a *Article) int64 { return a.Published.Unix() - day0.Unix() }

// kindStore returns the articles as a program with these indexes sees them.
func kindStore(db *persistable.DB, scatter int, indexes ...kindIndex) *ArticleStore {
	schema := articleSchemaWith()
	schema.Scatter = index.Shards(scatter)
	for _, ix := range indexes {
		schema.Indexes = append(schema.Indexes, ix.Definition)
	}
	if len(indexes) > 0 {
		schema.Entries = func(i int, e *index.Entries, v any) { indexes[i].entries(e, v.(*Article)) }
	}
	return &ArticleStore{persistimpl.NewStore[*Article, string](db, schema)}
}

// checkCounts compares the stored counts and sums with those of the stored records.
func checkCounts(t testing.TB, db *persistable.DB, s *ArticleStore, indexes ...kindIndex) {
	t.Helper()
	want := map[string]string{}
	add := func(group string, n int64) {
		old := int64(0)
		fmt.Sscan(want[group], &old)
		if want[group] = fmt.Sprint(old + n); old+n == 0 {
			delete(want, group)
		}
	}
	for _, a := range must[[]*Article](t)(s.Scan().Slice(ctx)) {
		for _, ix := range indexes {
			switch ix.Name {
			case countBySection.Name:
				add(ix.Name+tuple.Describe(tuple.Tuple{a.Section}.MustPack()), 1)
			case sumBySection.Name:
				add(ix.Name+tuple.Describe(tuple.Tuple{a.Section}.MustPack()), amountOf(a))
			case countByTags.Name:
				seen := map[string]bool{}
				for _, tag := range a.Tags {
					if !seen[tag] {
						add(ix.Name+tuple.Describe(tuple.Tuple{tag}.MustPack()), 1)
					}
					seen[tag] = true
				}
			}
		}
	}
	if diff := gocmp.Diff(want, storedCounts(t, db, indexes...)); diff != "" {
		t.Errorf("counts and sums (-want +stored):\n%s", diff)
	}
}

// checkVersions compares the records with the feed of changes: each record has one
// change, its last.
func checkVersions(t testing.TB, s *ArticleStore) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, a := range must[[]*Article](t)(s.Scan().Slice(ctx)) {
		want[a.ID] = 1
	}
	for c, err := range s.Feed().Changes(ctx, persistable.Version{}) {
		if check(t, err); !c.Deleted {
			got[c.ID]++
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("changes of records (-want +stored):\n%s", diff)
	}
}

// storedCounts returns the stored counts and sums by index and group.
func storedCounts(t testing.TB, db *persistable.DB, indexes ...kindIndex) map[string]string {
	t.Helper()
	all := map[string]string{}
	for key, value := range dump(t, db) {
		for _, ix := range indexes {
			_, group, found := strings.Cut(key, string(tuple.Tuple{"I", ix.Name}.MustPack()))
			switch {
			case !found:
			case ix.Kind == index.Count:
				all[ix.Name+tuple.Describe([]byte(group))] = fmt.Sprint(must[int64](t)(index.ReadCount(value)))
			case ix.Kind == index.Sum:
				all[ix.Name+tuple.Describe([]byte(group))] = must[index.Amount](t)(index.ReadAmount(value)).String()
			}
		}
	}
	return all
}
