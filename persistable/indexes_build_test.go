// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestBuildCountsOnce lets random writers and several builders, each with several
// workers, work at once on an engine that loses acknowledgements and makes every
// transaction run again. Builders are interrupted, claims expire at once. In the end
// each record is counted once.
func TestBuildCountsOnce(t *testing.T) {
	t.Parallel()
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for name, scatter := range map[string]int{"plain": 0, "scattered": 4} {
		t.Run(name, func(t *testing.T) {
			random := seed.Rand(t)
			for range rounds {
				runCountOnce(t, random, scatter)
			}
		})
	}
}

func runCountOnce(t *testing.T, random *rand.Rand, scatter int) {
	engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: random.Uint64(), MaxDelay: -1})
	db := openWith(t, engine, persistable.Options{BuildBatch: 1 + random.IntN(9)})
	old, s := kindStore(db, scatter), kindStore(db, scatter, allKinds...)
	for i := range 60 {
		check(t, old.Create(ctx, randomArticle(random, fmt.Sprintf("%03d", i))))
	}
	var group sync.WaitGroup
	for w := range 4 {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
		group.Go(func() { writeAtRandom(t, own, db, s, 30) })
	}
	for range 2 {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		group.Go(func() { buildWithInterruptions(t, own, s) })
	}
	group.Wait()
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	if p := must[persistable.BuildProgress](t)(s.Indexes().Progress(ctx)); len(p.Indexes) > 0 {
		t.Errorf("after the build: %v", p)
	}
	checkCounts(t, db, s, allKinds...)
	checkVersions(t, s)
	if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
		t.Errorf("not readable: %v", r.Skipped)
	}
}

// randomArticle is an article with its id as the unique slug.
func randomArticle(random *rand.Rand, id string) *Article {
	a := NewArticle(Article{Section: fmt.Sprint("s", random.IntN(3)), Slug: id, Published: day0.Add(time.Duration(random.IntN(5)) * time.Second)})
	a.ID = id
	for range random.IntN(4) {
		a.Tags = append(a.Tags, fmt.Sprint("t", random.IntN(3)))
	}
	if size := random.IntN(10); size < 3 { // so that there are split points
		a.Body = make([]byte, []int{3_000, 20_000, 120_000}[size])
	}
	return a
}

// writeAtRandom makes n transactions, each with up to three writes, none of which may
// fail.
func writeAtRandom(t *testing.T, random *rand.Rand, db *persistable.DB, s *ArticleStore, n int) {
	for range n {
		if err := writeOnce(random, db, s); err != nil {
			t.Error(err)
		}
	}
}

// writeOnce makes one of the transactions.
func writeOnce(random *rand.Rand, db *persistable.DB, s *ArticleStore) error {
	var fns []func(*ArticleStore) error
	for range 1 + random.IntN(3) {
		a := randomArticle(random, fmt.Sprintf("%03d", random.IntN(80)))
		if random.IntN(3) == 0 {
			fns = append(fns, func(s *ArticleStore) error { return s.Delete(ctx, a.ID) })
			continue
		}
		fns = append(fns, func(s *ArticleStore) error { return s.Save(ctx, a) })
	}
	return db.Transact(ctx, func(tx persistable.Tx) error {
		for _, fn := range fns {
			if err := fn(s.In(tx)); err != nil {
				return err
			}
		}
		return nil
	})
}

// buildWithInterruptions builds until it succeeds, in calls that it mostly ends early.
func buildWithInterruptions(t *testing.T, random *rand.Rand, s *ArticleStore) {
	for {
		stop, cancel := withCancelAt(random.IntN(12))
		err := s.Indexes().Build(stop, persistable.BuildOptions{Workers: 1 + random.IntN(3), RangeBytes: 1 + random.IntN(60_000), Lease: time.Nanosecond})
		cancel()
		if err == nil {
			return
		}
		if !errors.Is(err, errStopped) && !strings.Contains(err.Error(), "was replaced") {
			t.Error(err)
			return
		}
	}
}

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
		func(e *index.Entries, a *Article) { e.End(persistimpl.AppendString(e.Begin(), a.Section)) },
	}
	countByTags = kindIndex{
		index.Definition{Name: "Article_count_Tags", Kind: index.Count, Fields: []string{"Tags"}, Signature: "[]string"},
		func(e *index.Entries, a *Article) {
			for _, tag := range a.Tags {
				e.End(persistimpl.AppendString(e.Begin(), tag))
			}
		},
	}
	sumBySection = kindIndex{
		index.Definition{Name: "Article_sum_Published_Section", Kind: index.Sum, Fields: []string{"Section"}, Of: "Published", Signature: "string,int"},
		func(e *index.Entries, a *Article) {
			e.EndInt(persistimpl.AppendString(e.Begin(), a.Section), amountOf(a))
		},
	}
	valueOfTags = kindIndex{
		index.Definition{Name: "Article_Tags", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string"},
		func(e *index.Entries, a *Article) { articleSchema.Entries(tags, e, a) },
	}
	uniqueSlug = kindIndex{
		index.Definition{Name: "Article_Slug", Fields: []string{"Slug"}, Signature: "string", Unique: true},
		func(e *index.Entries, a *Article) { e.End(persistimpl.AppendString(e.Begin(), a.Slug)) },
	}
	rankBySection = kindIndex{
		index.Definition{Name: "Article_rank_Section_Published", Kind: index.Rank, Fields: []string{"Section", "Published"}, Signature: "string,int"},
		func(e *index.Entries, a *Article) {
			e.End(persistimpl.AppendInt(persistimpl.AppendString(e.Begin(), a.Section), amountOf(a)))
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

// TestBuildOptions names each option that is out of its range, all of them at once.
func TestBuildOptions(t *testing.T) {
	for _, o := range []persistable.BuildOptions{{}, {Share: 0.01}, {Share: 1, Workers: 1000, Lease: time.Hour}} {
		check(t, o.Validate())
	}
	bad := persistable.BuildOptions{Workers: -1, Share: 1.5, BytesPerSecond: -1, RangeBytes: -1, Lease: -1}
	err := bad.Validate()
	for _, name := range []string{"Workers", "Share", "BytesPerSecond", "RangeBytes", "Lease"} {
		if err == nil || !strings.Contains(err.Error(), "BuildOptions."+name+" ") {
			t.Errorf("%s is not reported: %v", name, err)
		}
	}
	for _, share := range []float64{-1, 0.001, 1.01, math.NaN(), math.Inf(1)} {
		if err := (persistable.BuildOptions{Share: share}).Validate(); err == nil {
			t.Errorf("Share %v is allowed", share)
		}
	}
	if err := (persistable.BuildOptions{Workers: 1001}).Validate(); err == nil {
		t.Error("1001 workers are allowed")
	}
}

var errStopped = errors.New("stopped by the test")

// withCancelAt returns a context that ends at the n-th stage that a build reaches.
func withCancelAt(n int) (context.Context, context.CancelFunc) {
	stop, cancel := context.WithCancelCause(ctx)
	var reached atomic.Int64
	hooked := worklist.WithHook(stop, func(build.Stage) {
		if reached.Add(1) == int64(n)+1 {
			cancel(errStopped)
		}
	})
	return hooked, func() { cancel(nil) }
}
