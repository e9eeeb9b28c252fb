// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
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
	check(t, s.Indexes().Build(ctx))
	if p := must[persistable.BuildProgress](t)(s.Indexes().Progress(ctx)); len(p.Indexes) > 0 {
		t.Errorf("after the build: %v", p)
	}
	checkCounts(t, db, s, allKinds...)
	checkVersions(t, s)
	if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
		t.Errorf("not readable: %v", r.Skipped)
	}
}

// randomArticle is an article whose unique slug is its id.
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
		err := s.Indexes().BuildWith(stop, persistable.BuildOptions{Workers: 1 + random.IntN(3), RangeBytes: 1 + random.IntN(60_000), Lease: time.Nanosecond})
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
