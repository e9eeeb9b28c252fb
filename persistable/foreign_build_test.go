// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// RemoveUnused ends the maintenance by all programs, those included that still
// have the index in their code: they see it as one that was never built.
func TestRemovedIndexIsNotMaintained(t *testing.T) {
	db := open(t, enginetest.Open(t))
	has, lacks := version(db, tags), version(db)
	a := articles(t, has, 4)[0]
	check(t, lacks.Indexes().RemoveUnused(ctx))
	for _, s := range []*ArticleStore{has, lacks} {
		check(t, s.Save(ctx, a))
		check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"all"}, Published: day0})))
	}
	for key := range dump(t, db) {
		if strings.Contains(key, "Article_Tags") && strings.Contains(key, "\x02I\x00") {
			t.Errorf("an entry of the removed index: %q", key)
		}
	}
	wantError(t, second(byTag(has, "all").Count(ctx)), persistable.ErrNotBuilt, " is disabled in this store")
	check(t, has.Indexes().Build(ctx, persistable.BuildOptions{}))
	if n := must[int](t)(byTag(has, "all").Count(ctx)); n != 6 {
		t.Errorf("%d entries, want 6", n)
	}
	sound(t, has.Indexes().Verify)
}

// A build belongs to the store: an older program that takes part in it, or completes
// it, fills the indexes of the newer one as well.
func TestOlderProgramBuilds(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := openWith(t, engine, persistable.Options{BuildBatch: 5})
	articles(t, version(db), 40)
	stop, cancel := context.WithCancel(ctx)
	engine.begin(nil, func(n int, commit func() error) error {
		if n == 4 {
			cancel()
			return context.Canceled
		}
		return commit()
	})
	newer, old := version(db, tags, isbn), version(db, editor)
	if err := newer.Indexes().Build(stop, persistable.BuildOptions{}); err == nil {
		t.Fatal("the build was not interrupted")
	}
	engine.begin(nil, nil)
	check(t, old.Create(ctx, NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"all"}, ISBN: ptr("1"), Published: day0})))
	check(t, old.Indexes().Build(ctx, persistable.BuildOptions{}))
	sound(t, old.Indexes().Verify)
	if n := must[int](t)(byTag(newer, "all").Count(ctx)); n != 41 {
		t.Errorf("%d entries, want 41", n)
	}
	check(t, newer.Indexes().Build(ctx, persistable.BuildOptions{}))
	if r := sound(t, newer.Indexes().Verify); len(r.Skipped) > 0 {
		t.Errorf("not readable: %v", r.Skipped)
	}
}

// The violations of a newer program's unique index are that program's to settle: an
// older one that completes the build does not make the index readable.
func TestOlderProgramBuildsOverViolations(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old := version(db)
	for i := range 3 {
		check(t, old.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), ISBN: ptr("1"), Published: day0})))
	}
	newer := version(db, isbn)
	wantAs[*persistable.NotUniqueError](t, newer.Indexes().Build(ctx, persistable.BuildOptions{}))
	check(t, old.Indexes().Build(ctx, persistable.BuildOptions{}))
	wantError(t, second(byIndex(newer, 0).Count(ctx)), persistable.ErrNotBuilt, " is building in this store")
	// The older program solves them, without knowing.
	all := must[[]*Article](t)(old.Scan().Slice(ctx))
	slices.SortFunc(all, func(a, b *Article) int { return strings.Compare(a.Slug, b.Slug) })
	check(t, old.Delete(ctx, all[0].ID))
	all[1].ISBN = ptr("2")
	check(t, old.Save(ctx, all[1]))
	check(t, newer.Indexes().Build(ctx, persistable.BuildOptions{}))
	if n := must[int](t)(byIndex(newer, 0).Count(ctx)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	sound(t, newer.Indexes().Verify)
}

// TestKindsByProgramsOfDifferentAge is TestKindsAgainstAMap with writes by two programs,
// one of which has none of the indexes.
func TestKindsByProgramsOfDifferentAge(t *testing.T) {
	t.Parallel()
	t.Run("plain", rapid.MakeCheck(func(rt *rapid.T) { runSaleModel(t, rt, enginetest.Open(t), 9, true) }))
	t.Run("hostile", rapid.MakeCheck(func(rt *rapid.T) {
		engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: rapid.Uint64().Draw(rt, "seed"), MaxDelay: -1})
		runSaleModel(t, rt, engine, 29, true)
	}))
}

// addOlder adds the older program to a store that the newer one has made.
func (m *saleModel) addOlder(rt *rapid.T) {
	if err := m.store.Save(ctx, &Sale{ID: "first"}); err != nil {
		rt.Fatal(err)
	}
	if err := m.store.Delete(ctx, "first"); err != nil {
		rt.Fatal(err)
	}
	schema := newSaleSchema()
	schema.Indexes, schema.Entries, schema.Covers = nil, nil, nil
	m.older = saleStoreOf(m.db, &schema)
}

// writer returns the store through which the next write goes.
func (m *saleModel) writer(rt *rapid.T) *SaleStore {
	if m.older != nil && rapid.Bool().Draw(rt, "by the older program") {
		return m.older
	}
	return m.store
}
