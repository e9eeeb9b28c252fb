// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// twins are two stores that get the same writes: one plain, one scattered.
type twins struct {
	db               *persistable.DB
	plain, scattered *ArticleStore
}

func newTwins(t *testing.T, rt *rapid.T, engine kv.Database) twins {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		rt.Fatal(err)
	}
	rt.Cleanup(func() { closeDB(t, db) })
	shards := rapid.SampledFrom([]index.Shards{2, 4, 16, 64, 256})
	tw := twins{db, sharded(db, "plain", 0, 0), sharded(db, "scattered", shards.Draw(rt, "records"), shards.Draw(rt, "indexes"))}
	tw.fill(rt)
	return tw
}

var (
	twinID   = rapid.SampledFrom(twinIDs())
	twinTime = rapid.Custom(func(rt *rapid.T) time.Time {
		return day0.Add(time.Duration(rapid.IntRange(-9, 9).Draw(rt, "hours")) * time.Hour)
	})
	twinQuery = rapid.SampledFrom([]string{"id", "published", "section", "tag", "tags", "editor", "editors"})
	twinTag   = rapid.SampledFrom([]string{"", "a", "a\x00", "b", "c", "d"})
)

// twinIDs are ids of which many begin with another, or hold zero bytes.
func twinIDs() (ids []string) {
	for _, a := range []string{"", "a", "\x00", "a\x00"} {
		for _, b := range []string{"", "b", "\x00", "b\x00", "\x7f"} {
			for _, c := range []string{"0", "1", "2", "\x00"} {
				ids = append(ids, a+b+c)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func drawTwin(rt *rapid.T, id string) *Article {
	a := &Article{
		ID: id, Section: rapid.SampledFrom([]string{"s", "s", "s", "t"}).Draw(rt, "section"), Slug: id,
		Editor: rapid.Ptr(twinTag, true).Draw(rt, "editor"), Tags: rapid.SliceOfN(twinTag, 0, 3).Draw(rt, "tags"), Published: twinTime.Draw(rt, "published"),
	}
	switch rapid.IntRange(0, 30).Draw(rt, "size") {
	case 0:
		a.Body = make([]byte, 230_000)
	case 1, 2:
		a.Body = make([]byte, 2_000)
	}
	return a
}

// both runs fn for either store, in one transaction.
func (tw *twins) both(rt *rapid.T, fn func(s *ArticleStore) error) {
	err := tw.db.Transact(ctx, func(tx persistable.Tx) error {
		for _, s := range []*ArticleStore{tw.plain.In(tx), tw.scattered.In(tx)} {
			if err := fn(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
}

// fill saves a number of articles.
func (tw *twins) fill(rt *rapid.T) {
	var all []*Article
	for _, id := range rapid.SliceOfNDistinct(twinID, 0, 50, rapid.ID[string]).Draw(rt, "ids") {
		all = append(all, drawTwin(rt, id))
	}
	tw.both(rt, func(s *ArticleStore) error {
		for _, a := range all {
			if err := s.Save(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// drawQuery draws a query that can be put to either store.
func drawQuery(rt *rapid.T) func(s *ArticleStore) *persistable.Query[*Article] {
	return drawQueryOf(rt, twinQuery.Draw(rt, "query"))
}

func drawQueryOf(rt *rapid.T, kind string) func(s *ArticleStore) *persistable.Query[*Article] {
	tag := twinTag.Draw(rt, "tag")
	id, at := rapid.SliceOfN(twinID, 2, 2).Draw(rt, "ids"), rapid.SliceOfN(twinTime, 2, 2).Draw(rt, "times")
	bounds, reverse, limit := rapid.IntRange(0, 5).Draw(rt, "bounds"), rapid.Bool().Draw(rt, "reverse"), rapid.IntRange(-20, 40).Draw(rt, "limit, if over 0")
	return func(s *ArticleStore) *persistable.Query[*Article] {
		var q *persistable.Query[*Article]
		switch kind {
		case "id":
			q = bounded(persistable.ScanRange(&s.Store), bounds, id[0], id[1])
		case "published":
			q = bounded(s.OrderedByPublished(), bounds, at[0], at[1])
		case "section":
			q = bounded(s.BySectionPublished("s"), bounds, at[0], at[1])
		case "tag":
			q = s.ByTags(tag)
		case "tags":
			q = bounded(s.OrderedByTags(), bounds, tag, id[0])
		case "editor":
			q = s.ByEditor(&tag)
		case "editors":
			q = bounded(s.OrderedByEditor(), bounds, nil, &tag)
		}
		if reverse {
			q = q.Reverse()
		}
		if limit > 0 {
			q = q.Limit(limit)
		}
		return q
	}
}

func bounded[F any](q *persistable.RangeQuery[*Article, F], bounds int, a, b F) *persistable.Query[*Article] {
	switch bounds {
	case 0:
		q = q.From(a)
	case 1:
		q = q.After(a).To(b)
	case 2:
		q = q.Before(b)
	case 3:
		q = q.Equal(a)
	}
	return q.Query()
}

// answers is all that a query says, as text.
func answers(s *persistable.Query[*Article], pageSizes []int) (string, error) {
	var out strings.Builder
	all, err := s.Slice(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range all {
		fmt.Fprintf(&out, "%q %d %v\n", a.ID, len(a.Body), a.Tags)
	}
	count, err := s.Count(ctx)
	if err != nil {
		return "", err
	}
	first, err := s.First(ctx)
	if ignore(err, persistable.ErrNotFound) != nil {
		return "", err
	}
	fmt.Fprintf(&out, "count %d, first %v\n", count, first != nil && first.ID == all[0].ID)
	token := ""
	for i := 0; i == 0 || token != ""; i++ {
		page, err := s.Limit(pageSizes[i%len(pageSizes)]).Page(ctx, token)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "page of %d: ", len(page.Records))
		for _, a := range page.Records {
			fmt.Fprintf(&out, "%q ", a.ID)
		}
		token = page.Next
	}
	return out.String(), nil
}

// TestScatteredAsPlain runs random writes on a plain and a scattered store and
// puts the same random questions to both: all answers are the same.
func TestScatteredAsPlain(t *testing.T) {
	t.Parallel()
	run := func(steps int, wrap func(*rapid.T, kv.Database) kv.Database) func(*testing.T) {
		return rapid.MakeCheck(func(rt *rapid.T) {
			tw := newTwins(t, rt, wrap(rt, enginetest.Open(t)))
			step := rapid.SampledFrom([]func(*rapid.T){tw.write, tw.deleteSome, tw.ask, tw.askInside})
			for range steps {
				step.Draw(rt, "step")(rt)
			}
			for _, s := range []*ArticleStore{tw.plain, tw.scattered} {
				if report, err := s.Indexes().Verify(ctx, persistable.VerifyOptions{}); err != nil || len(report.Faults) > 0 {
					rt.Fatal(report.Faults, err)
				}
			}
		})
	}
	t.Run("plain", run(30, func(_ *rapid.T, e kv.Database) kv.Database { return e }))
	t.Run("hostile", run(6, func(rt *rapid.T, e kv.Database) kv.Database {
		return faults.Hostile(e, faults.Options{Seed: rapid.Uint64().Draw(rt, "seed"), MaxDelay: -1})
	}))
}

func (tw *twins) write(rt *rapid.T) {
	a := drawTwin(rt, twinID.Draw(rt, "id"))
	tw.both(rt, func(s *ArticleStore) error { return s.Save(ctx, a) })
}

// deleteSome deletes what a query yields, while it yields it. The query yields
// no record twice: whether one is yielded again for an entry that was read
// before the record was deleted depends on how the range is cut into batches.
func (tw *twins) deleteSome(rt *rapid.T) {
	query := drawQueryOf(rt, rapid.SampledFrom([]string{"id", "published", "section", "tag", "editors"}).Draw(rt, "query"))
	every := rapid.IntRange(2, 9).Draw(rt, "every")
	tw.both(rt, func(s *ArticleStore) error {
		i := 0
		for a, err := range query(s).Limit(math.MaxInt32).All(ctx) {
			if err != nil {
				return err
			}
			if i++; i%every == 0 {
				if err := s.Delete(ctx, a.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ask puts a question in transactions of their own.
func (tw *twins) ask(rt *rapid.T) { tw.compare(rt, tw.plain, tw.scattered) }

// askInside puts a question in a transaction that has written.
func (tw *twins) askInside(rt *rapid.T) {
	tx, err := tw.db.Engine().Begin()
	if err != nil {
		rt.Fatal(err)
	}
	defer tx.Cancel()
	in := tw.db.In(tx)
	plain, scattered := tw.plain.In(in), tw.scattered.In(in)
	for _, id := range rapid.SliceOfN(twinID, 0, 5).Draw(rt, "ids") {
		a, remove := drawTwin(rt, id), rapid.Bool().Draw(rt, "remove")
		for _, s := range []*ArticleStore{plain, scattered} {
			if err = s.Delete(ctx, id); err == nil && !remove {
				err = s.Save(ctx, a)
			}
			if kv.IsRetryable(err) {
				return
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
	}
	tw.compare(rt, plain, scattered)
}

func (tw *twins) compare(rt *rapid.T, plain, scattered *ArticleStore) {
	query, sizes := drawQuery(rt), rapid.SliceOfN(rapid.IntRange(1, 30), 1, 3).Draw(rt, "page sizes")
	want, err := answers(query(plain), sizes)
	if kv.IsRetryable(err) {
		return // the hostile engine has ended the transaction
	}
	if err != nil {
		rt.Fatal(err)
	}
	got, err := answers(query(scattered), sizes)
	if kv.IsRetryable(err) {
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("(-plain +scattered):\n%s", diff)
	}
}

// randomSplits is an engine that knows no sizes, and divides ranges of keys at random places:
// at the key in the middle, at a third of the others, and near them, whatever the chunk size.
type randomSplits struct {
	kv.Database
	random *rand.Rand
}

func (r randomSplits) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return r.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(randomSplitsView{tx, r.random}) })
}

// Close leaves the engine to the test that opened it.
func (r randomSplits) Close() error { return nil }

type randomSplitsView struct {
	kv.ReadTransaction
	random *rand.Rand
}

func (v randomSplitsView) Snapshot() kv.ReadTransaction {
	return randomSplitsView{v.ReadTransaction.Snapshot(), v.random}
}

// GetEstimatedRangeSizeBytes is that of an engine that has sampled none of the keys.
func (v randomSplitsView) GetEstimatedRangeSizeBytes(kv.KeyRange) kv.Future[int64] {
	return kv.Resolved[int64](0, nil)
}

func (v randomSplitsView) GetRangeSplitPoints(r kv.KeyRange, _ int64) kv.Future[[][]byte] {
	pairs, err := v.GetRange(r.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	points := [][]byte{r.Begin, r.End}
	for i, pair := range pairs {
		if i == len(pairs)/2 {
			points = append(points, pair.Key)
		}
		if v.random.IntN(3) > 0 {
			continue
		}
		point := slices.Clone(pair.Key)
		switch v.random.IntN(4) {
		case 0:
			point = append(point, byte(v.random.IntN(256)))
		case 1:
			point = point[:len(point)-1-v.random.IntN(3)]
		}
		if bytes.Compare(point, r.Begin) >= 0 && bytes.Compare(point, r.End) < 0 {
			points = append(points, point)
		}
	}
	slices.SortFunc(points, bytes.Compare)
	return kv.Resolved(points, err)
}
