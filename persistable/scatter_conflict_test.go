// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestScatteredConflictsAsPlain: a transaction that reads and writes conflicts
// with the change that another one commits before it, or not, as it would if the
// records were not scattered. Scans by id may conflict less: a plain one reads
// ahead of what it yields.
func TestScatteredConflictsAsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tw := newTwins(t, rt, enginetest.Open(t))
		for range 8 {
			kind := twinQuery.Draw(rt, "query")
			query := drawQueryOf(rt, kind)
			before := must[[]*Article](t)(query(tw.plain).Slice(ctx))
			change := drawChange(rt, before)
			plain, n := tw.conflicts(rt, query, tw.plain, change)
			scattered, m := tw.conflicts(rt, query, tw.scattered, change)
			if n == expired || m == expired {
				continue // both stores have changed, and the commit says nothing
			}
			changed := !slices.EqualFunc(before, must[[]*Article](t)(query(tw.plain).Slice(ctx)), func(a, b *Article) bool { return encoded(a) == encoded(b) })
			if n != m || n != len(before) || scattered && !plain || changed && !scattered || plain != scattered && kind != "id" {
				rt.Fatalf("%s: the plain store conflicts: %t, the scattered one: %t; the answer changed: %t", kind, plain, scattered, changed)
			}
		}
	})
}

// drawChange draws the change of a record, often the first or last of an answer.
func drawChange(rt *rapid.T, answer []*Article) func(s *ArticleStore) error {
	id := twinID
	if len(answer) > 0 && rapid.Bool().Draw(rt, "of the answer") {
		id = rapid.SampledFrom([]string{answer[0].ID, answer[len(answer)-1].ID, answer[len(answer)/2].ID})
	}
	a := drawTwin(rt, id.Draw(rt, "id"))
	if rapid.Bool().Draw(rt, "remove") {
		return func(s *ArticleStore) error { return s.Delete(ctx, a.ID) }
	}
	return func(s *ArticleStore) error { return s.Save(ctx, a) }
}

// expired is what conflicts returns of a transaction that took longer than a cluster keeps its version.
const expired = -1

// conflicts puts a question in a transaction that writes something else, makes
// a change before it commits, and tells whether it then conflicts, and how many
// records it saw.
func (tw *twins) conflicts(rt *rapid.T, query func(*ArticleStore) *persistable.Query[*Article], s *ArticleStore, change func(*ArticleStore) error) (conflict bool, seen int) {
	tx, err := tw.db.Engine().Begin()
	if err != nil {
		rt.Fatal(err)
	}
	defer tx.Cancel()
	all, asked := query(s.In(tw.db.In(tx))).Slice(ctx)
	tx.Set([]byte("written"), nil)
	if err := change(s); err != nil {
		rt.Fatal(err)
	}
	err = errors.Join(asked, tx.Commit(ctx))
	switch {
	case kv.CodeOf(err) == kv.CodeTransactionTooOld:
		return false, expired
	case asked != nil || err != nil && !kv.IsConflict(err):
		rt.Fatal(err)
	}
	return err != nil, len(all)
}

// TestScatteredQueueConflicts checks that a transaction that takes the first of a
// few records does not conflict with one that adds a record after it, in any
// shard, although it reads all shards.
func TestScatteredQueueConflicts(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := sharded(db, "a", 16, 16)
	for i := range 5 {
		check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0.Add(time.Duration(i))})))
	}
	for name, c := range map[string]struct {
		at       time.Time
		conflict bool
	}{"behind": {day1, false}, "before": {day0.Add(-1), true}} {
		for i := range 50 {
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			in := s.In(db.In(tx))
			first := must[*Article](t)(in.OrderedByPublished().First(ctx))
			check(t, in.Delete(ctx, first.ID))
			added := NewArticle(Article{Section: "s", Slug: fmt.Sprint(name, i), Published: c.at})
			check(t, s.Create(ctx, added))
			if err := tx.Commit(ctx); kv.IsConflict(err) != c.conflict || !c.conflict && err != nil {
				t.Fatalf("one record was added %s the first: %v", name, err)
			}
			check(t, s.Delete(ctx, added.ID))
			check(t, s.Save(ctx, first))
		}
	}
}

// TestScatteredLimitConflicts: a scan of the first records does not conflict
// with a change after the last of them, though large records, which have
// several pairs each, make the scan read on after as many pairs as it wants
// records.
func TestScatteredLimitConflicts(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := sharded(db, "a", 4, 0)
	for i := range 12 {
		a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0})
		if i%2 == 0 {
			a.Body = make([]byte, 230_000)
		}
		check(t, s.CreateWithID(ctx, fmt.Sprintf("%02d", i), a))
	}
	for limit := 1; limit < 10; limit++ {
		tx := must[kv.Transaction](t)(db.Engine().Begin())
		must[[]*Article](t)(s.In(db.In(tx)).Scan().Limit(limit).Slice(ctx))
		tx.Set([]byte("written"), nil)
		check(t, s.CreateWithID(ctx, fmt.Sprintf("%02dx", limit-1), NewArticle(Article{Section: "s", Slug: fmt.Sprint("x", limit), Published: day0})))
		if err := tx.Commit(ctx); err != nil {
			t.Errorf("a record was added behind the first %d: %v", limit, err)
		}
		check(t, s.Delete(ctx, fmt.Sprintf("%02dx", limit-1)))
	}
}

// TestDeleteAheadOfAScatteredQuery deletes all records at the first that a query
// of the same transaction yields: what the query has read ahead is void.
func TestDeleteAheadOfAScatteredQuery(t *testing.T) {
	for _, size := range []int{10, 3_000, 110_000} {
		for name, query := range map[string]func(*ArticleStore) *persistable.Query[*Article]{
			"by id":       func(s *ArticleStore) *persistable.Query[*Article] { return s.Scan() },
			"by id, back": func(s *ArticleStore) *persistable.Query[*Article] { return s.Scan().Reverse() },
			"by tags":     func(s *ArticleStore) *persistable.Query[*Article] { return s.OrderedByTags().Query() },
			"by tags, back, some": func(s *ArticleStore) *persistable.Query[*Article] {
				return s.OrderedByTags().Reverse().Limit(30).Query()
			},
		} {
			db := open(t, enginetest.Open(t))
			s := sharded(db, "a", 4, 8)
			var all []*Article
			for i := range min(200, 4_000_000/size) {
				all = append(all, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Tags: []string{fmt.Sprint("x", i%7), fmt.Sprint("y", i%5)}, Published: day0, Body: make([]byte, size)}))
			}
			check(t, db.Transact(ctx, func(tx persistable.Tx) error {
				for _, a := range all {
					if err := s.In(tx).Create(ctx, a); err != nil {
						return err
					}
				}
				return nil
			}))
			yielded := 0
			check(t, db.Transact(ctx, func(tx persistable.Tx) error {
				yielded = 0
				for _, err := range query(s.In(tx)).All(ctx) {
					if err != nil {
						return fmt.Errorf("%s, %d bytes: %w", name, size, err)
					}
					if yielded++; yielded > 1 {
						continue
					}
					for _, a := range all {
						if err := s.In(tx).Delete(ctx, a.ID); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			if yielded == len(all) || yielded == 0 {
				t.Errorf("%s, %d bytes: all %d records were yielded", name, size, yielded)
			}
		}
	}
}
