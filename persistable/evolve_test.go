// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// The versions of a program: which indexes of Article each knows, by their
// place in articleSchema.
func version(db *persistable.DB, indexes ...int) *ArticleStore {
	var all []articleIndex
	for _, i := range indexes {
		all = append(all, indexOfArticles(i))
	}
	return versionWith(db, all...)
}

func versionWith(db *persistable.DB, indexes ...articleIndex) *ArticleStore {
	return articlesOf(db, articleSchemaWith(indexes...))
}

// articleIndex is an index with the entries of that one of articleSchema.
type articleIndex struct {
	index.Definition
	entries int
}

// indexOfArticles returns the i-th index of articleSchema.
func indexOfArticles(i int) articleIndex { return articleIndex{articleSchema.Indexes[i], i} }

// articleSchemaWith returns a copy of articleSchema with other indexes.
func articleSchemaWith(indexes ...articleIndex) *persistimpl.Schema {
	schema := &persistimpl.Schema{
		Type: "Article", Directory: articleSchema.Directory, Lock: articleSchema.Lock, IDs: articleSchema.IDs, ID: articleSchema.ID,
		Encode: articleSchema.Encode, Decode: articleSchema.Decode, Known: &articleKnown,
	}
	for _, ix := range indexes {
		schema.Indexes = append(schema.Indexes, ix.Definition)
		schema.Entries = func(i int, e *index.Entries, v any) { articleSchema.Entries(indexes[i].entries, e, v) }
	}
	return schema
}

func articlesOf(db *persistable.DB, schema *persistimpl.Schema) *ArticleStore {
	return &ArticleStore{persistimpl.NewStore[*Article, string](db, schema)}
}

// byIndex returns the records in the order of the schema's i-th index.
func byIndex(s *ArticleStore, i int) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, i, nil)
}

const (
	sectionSlug = iota // unique
	sectionPublished
	isbn // unique
	editor
	tags
	published
)

// Queries of a version with indexes[0] == tags, or with one unique index.
func byTag(s *ArticleStore, tag string) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, 0, persistimpl.AppendString(nil, tag))
}

func articles(t testing.TB, s *ArticleStore, n int) []*Article {
	t.Helper()
	var all []*Article
	for i := range n {
		a := NewArticle(Article{Section: "s", Slug: fmt.Sprintf("%03d", i), Tags: []string{"all", fmt.Sprint("mod", i%3)}, Published: day0})
		check(t, s.Create(ctx, a))
		all = append(all, a)
	}
	return all
}

func TestIndexAddedOverData(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(kv.Database) kv.Database{
		"plain":   func(e kv.Database) kv.Database { return e },
		"hostile": func(e kv.Database) kv.Database { return faults.HostileT(t, e) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openWith(t, wrap(enginetest.Open(t)), persistable.Options{BuildBatch: 4})
			old := version(db)
			all := articles(t, old, 25)
			s := version(db, tags)
			for _, err := range []error{second(byTag(s, "all").Slice(ctx)), second(byTag(s, "all").Count(ctx)), second(byTag(s, "all").Page(ctx, ""))} {
				wantError(t, err, persistable.ErrNotBuilt, ": Article: the index Article_Tags is disabled in this store: run Indexes().Build ")
			}
			check(t, s.Save(ctx, all[0])) // writing is allowed all the time
			if r := sound(t, s.Indexes().Verify); !slices.Equal(r.Skipped, []string{"Article_Tags"}) {
				t.Errorf("Verify skipped %v", r.Skipped)
			}
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{})) // nothing to do
			if n := must[int](t)(byTag(s, "all").Count(ctx)); n != 25 {
				t.Errorf("%d entries, want 25", n)
			}
			if n := must[int](t)(byTag(s, "mod1").Count(ctx)); n != 8 {
				t.Errorf("%d entries, want 8", n)
			}
			sound(t, s.Indexes().Verify)
		})
	}
}

func TestIndexOfANewStoreIsReadable(t *testing.T) {
	s := version(open(t, enginetest.Open(t)), tags)
	articles(t, s, 3)
	if n := must[int](t)(byTag(s, "all").Count(ctx)); n != 3 {
		t.Errorf("%d entries", n)
	}
}

// An interrupted build goes on where it stopped.
func TestBuildIsResumed(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := openWith(t, engine, persistable.Options{BuildBatch: 5})
	articles(t, version(db), 40)
	stop, cancel := context.WithCancel(ctx)
	engine.begin(nil, func(n int, commit func() error) error {
		if n == 5 { // the state, then four batches
			cancel()
			return context.Canceled
		}
		return commit()
	})
	if err := version(db, tags).Indexes().Build(stop, persistable.BuildOptions{}); err == nil {
		t.Fatal("the build was not interrupted")
	}
	engine.begin(nil, nil)

	counter := faults.NewCounter(engine)
	again := openWith(t, counter, persistable.Options{BuildBatch: 5})
	s := version(again, tags)
	wantError(t, second(byTag(s, "all").Slice(ctx)), persistable.ErrNotBuilt, " is building in this store")
	counts, err := counter.Measure(func() error { return s.Indexes().Build(ctx, persistable.BuildOptions{}) })
	check(t, err)
	if counts.Commits > 10 { // of 40 records, 15 were done
		t.Errorf("resuming took %v", counts)
	}
	if n := must[int](t)(byTag(s, "all").Count(ctx)); n != 40 {
		t.Errorf("%d entries, want 40", n)
	}
	sound(t, s.Indexes().Verify)
}

// A build runs while others write, and misses nothing that they do.
func TestBuildBesideWriters(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		db = openWith(t, db.Engine(), persistable.Options{BuildBatch: 7})
		s := version(db, tags, isbn)
		all := articles(t, version(db), 60)
		var writers sync.WaitGroup
		for w := range 3 {
			writers.Go(func() {
				for i := range 20 {
					a := *all[(w*20+i*7)%60]
					a.Tags, a.ISBN = []string{fmt.Sprint("new", w)}, ptr(a.Slug)
					var err error
					switch i % 3 {
					case 0:
						err = s.Delete(ctx, a.ID)
					case 1:
						err = s.Save(ctx, &a)
					case 2:
						err = s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(w, i), Tags: []string{"fresh"}, Published: day0}))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
		writers.Wait()
		if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
			t.Errorf("not readable: %v", r.Skipped)
		}
	})
}

func TestUniqueIndexOverDataThatIsNotUnique(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		db = openWith(t, db.Engine(), persistable.Options{BuildBatch: 2})
		old, s := version(db), version(db, isbn)
		var all []*Article
		for i, number := range []string{"1", "2", "1", "3", "1", "2"} {
			a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), ISBN: &number, Published: day0})
			check(t, old.Create(ctx, a))
			all = append(all, a)
		}
		build := func() []persistable.Violation {
			t.Helper()
			e := wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			return e.Violations
		}
		want := []persistable.Violation{
			{Index: "Article_ISBN_unique", Fields: []string{"ISBN"}, Values: tuple.Tuple{"1"}, ID: all[2].ID, Owner: all[0].ID},
			{Index: "Article_ISBN_unique", Fields: []string{"ISBN"}, Values: tuple.Tuple{"1"}, ID: all[4].ID, Owner: all[0].ID},
			{Index: "Article_ISBN_unique", Fields: []string{"ISBN"}, Values: tuple.Tuple{"2"}, ID: all[5].ID, Owner: all[1].ID},
		}
		if diff := cmp.Diff(want, build()); diff != "" {
			t.Errorf("violations (-want +got):\n%s", diff)
		}
		wantError(t, second(byIndex(s, 0).Count(ctx)), persistable.ErrNotBuilt)

		// A record of a violation can be saved as it is, even over a covering
		// entry that is not its own; new ones cannot join.
		all[2].Body = []byte("changed")
		check(t, s.Save(ctx, all[2]))
		wantAs[*persistable.UniqueError](t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "7", ISBN: ptr("3"), Published: day0})))
		// One changes its value, the owner of the others goes.
		all[5].ISBN = ptr("4")
		check(t, s.Save(ctx, all[5]))
		check(t, s.Delete(ctx, all[0].ID))
		if got := build(); len(got) != 1 || got[0].ID != all[4].ID || got[0].Owner != all[2].ID {
			t.Errorf("violations: %+v", got)
		}
		all[4].ISBN = nil
		check(t, s.Save(ctx, all[4]))
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
		if n := must[int](t)(byIndex(s, 0).Count(ctx)); n != 4 {
			t.Errorf("%d entries, want 4", n)
		}
		sound(t, s.Indexes().Verify)
	})
}

func TestChangedIndexIsNotTrusted(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := version(db, tags)
	articles(t, s, 3)
	changed := indexOfArticles(tags)
	changed.Signature = "[]int"
	schema := articleSchemaWith(changed)
	other := articlesOf(db, schema)
	wantError(t, second(byTag(other, "all").Count(ctx)), persistable.ErrNotBuilt)
	check(t, other.Indexes().Build(ctx, persistable.BuildOptions{}))
	if n := must[int](t)(byTag(other, "all").Count(ctx)); n != 3 {
		t.Errorf("%d entries", n)
	}
	wantError(t, second(byTag(s, "all").Count(ctx)), persistable.ErrNotBuilt)
}

func TestRemoveUnusedIndexes(t *testing.T) {
	db := open(t, enginetest.Open(t))
	articles(t, version(db, tags, editor), 4)
	s := version(db, editor)
	check(t, s.Indexes().RemoveUnused(ctx))
	check(t, s.Indexes().RemoveUnused(ctx))
	for key := range dump(t, db) {
		if strings.Contains(key, "Article_Tags") {
			t.Errorf("an entry is left: %q", key)
		}
	}
	sound(t, s.Indexes().Verify)
	wantError(t, second(byTag(version(db, tags), "all").Count(ctx)), persistable.ErrNotBuilt)
}

func TestFindPassesOverIndexesThatAreNotReadable(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old := version(db, sectionPublished)
	articles(t, old, 3)
	s := version(db, sectionSlug, sectionPublished) // both begin with Section
	q := must[*persistable.Query[*Article]](t)(s.Find(ArticleFields.Section.Equal("s")))
	page := must[persistable.Page[*Article]](t)(q.Limit(1).Page(ctx, ""))
	if len(page.Records) != 1 || page.Next == "" {
		t.Fatalf("page %+v", page)
	}
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	// The token goes on in the index in which it was made.
	rest := must[persistable.Page[*Article]](t)(q.Limit(5).Page(ctx, page.Next))
	if len(rest.Records) != 2 {
		t.Errorf("the rest is %v", slugs(rest.Records))
	}
}

func TestBuildInATransactionIsRefused(t *testing.T) {
	db := open(t, enginetest.Open(t))
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		return version(db, tags).In(tx).Indexes().Build(ctx, persistable.BuildOptions{})
	})
	if err == nil || !strings.Contains(err.Error(), "not bound") {
		t.Errorf("got %v", err)
	}
	wantError(t, version(db, tags).Indexes().Rebuild(ctx, "nonsense", persistable.BuildOptions{}), persistable.ErrNoIndex)
}

func TestVerifyFindsFaults(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArticleStoreOf(db)
	a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x"}, Published: day0})
	check(t, s.Create(ctx, a))
	prefix := prefixOf(t, db, "articles")
	pack := func(elements ...any) []byte {
		return slices.Concat(prefix, must[[]byte](t)(tuple.Tuple(elements).Pack()))
	}
	entry := func(name, id string, values ...any) []byte { // that is not unique
		return scattered(pack("I", name), must[[]byte](t)(append(tuple.Tuple(values), id).Pack()), id)
	}
	chunk := func(id string) []byte { return scattered(pack("R", "Article"), tuple.Tuple{id, 1}.MustPack(), id) }
	good := dump(t, db)
	cases := map[string]struct {
		break_ func(tx kv.Transaction)
		want   string
	}{
		"missing entry": {func(tx kv.Transaction) { tx.Clear(entry("Article_Tags", a.ID, "x")) }, "no entry"},
		"orphan":        {func(tx kv.Transaction) { tx.Set(entry("Article_Tags", "nobody", "x"), nil) }, "not there"},
		"other values":  {func(tx kv.Transaction) { tx.Set(entry("Article_Tags", a.ID, "y"), nil) }, "other values"},
		"wrong owner":   {func(tx kv.Transaction) { tx.Set(pack("I", "Article_ISBN_unique", "1"), []byte("\x02nobody\x00")) }, "does not belong"},
		"old copy": {func(tx kv.Transaction) {
			tx.Set(entry("Article_Section_Published", a.ID, "s", day0.UnixNano()), []byte("old"))
		}, "old copy"},
		"damaged owner":   {func(tx kv.Transaction) { tx.Set(pack("I", "Article_Section_Slug_unique", "s", "a"), []byte{0x77}) }, "begin with an id"},
		"damaged key":     {func(tx kv.Transaction) { tx.Set(append(pack("I", "Article_Tags"), 0x77), nil) }, "damaged"},
		"chunk too many":  {func(tx kv.Transaction) { tx.Set(chunk(a.ID), []byte("x")) }, "no header counts"},
		"lonely chunk":    {func(tx kv.Transaction) { tx.Set(chunk("nobody"), []byte("x")) }, "no header counts"},
		"too many values": {func(tx kv.Transaction) { tx.Set(pack("I", "Article_ISBN_unique", "1", "2"), []byte("\x02nobody\x00")) }, "not there"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			write(t, db, c.break_)
			report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
			if !slices.ContainsFunc(report.Faults, func(f persistable.Fault) bool { return strings.Contains(f.String(), c.want) }) {
				t.Errorf("no fault says %q: %v", c.want, report.Faults)
			}
			write(t, db, func(tx kv.Transaction) {
				tx.ClearRange(kv.PrefixRange(prefix))
				for key, value := range good {
					tx.Set([]byte(key), value)
				}
			})
			sound(t, s.Indexes().Verify)
		})
	}
}
