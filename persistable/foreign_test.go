// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// olderVersion is a program from before ISBN, Editor and Tags: its struct does not have
// these fields. Of the indexes it knows those on the slug.
func olderVersion(db *persistable.DB) *ArticleStore {
	schema := articleSchemaWith(indexOfArticles(sectionSlug))
	for _, line := range []string{"\tfield 4 ISBN *string\n", "\tfield 5 Editor *string\n", "\tfield 6 Tags []string\n"} {
		schema.Lock = strings.Replace(schema.Lock, line, "", 1)
	}
	schema.Known = &wire.FieldSet{Numbers: []int32{1, 2, 3, 7, 8}}
	without := func(a Article) *Article {
		a.ISBN, a.Editor, a.Tags = nil, nil, nil
		return &a
	}
	schema.Encode = func(b []byte, v any) ([]byte, error) { return appendArticle(b, without(*v.(*Article))) }
	schema.Decode = func(b []byte, s *wire.Strings) (any, error) {
		if len(b) == 0 {
			return nil, errors.New("the struct has fields that the lock lacks, which is refused where it can be seen")
		}
		v := new(Article)
		err := decodeArticle(b, v, s)
		return without(*v), err
	}
	return articlesOf(db, schema)
}

// An older program maintains the indexes that a newer one has added, also on fields
// that it does not have: in creations, saves, updates and deletions.
func TestOlderProgramWrites(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, old := ArticleStoreOf(db), olderVersion(db)
		all := articles(t, s, 6)
		all[0].ISBN, all[1].Editor = ptr("0"), ptr("e")
		check(t, s.Save(ctx, all[0]))
		check(t, s.Save(ctx, all[1]))
		check(t, old.Create(ctx, NewArticle(Article{Section: "s", Slug: "new", Published: day0})))
		for i, a := range all[:4] {
			seen := must[*Article](t)(old.Get(ctx, a.ID))
			seen.Section, seen.Published = fmt.Sprint("moved", i), day1
			check(t, old.Save(ctx, seen))
		}
		check(t, old.Update(ctx, all[4].ID, func(a *Article) error { a.Section = "updated"; return nil }))
		check(t, old.Delete(ctx, all[5].ID))
		if n := must[int](t)(s.ByTags("all").Count(ctx)); n != 5 {
			t.Errorf("%d entries, want 5", n)
		}
		if a := must[*Article](t)(s.ByISBN(ctx, ptr("0"))); a.Section != "moved0" {
			t.Errorf("the covering entry has %+v", a)
		}
		if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
			t.Errorf("not readable: %v", r.Skipped)
		}
	})
}

// A newer program's unique index holds for writes of an older one that does not have
// its field: the values are in what the older one keeps of the stored record.
func TestOlderProgramKeepsUniqueValues(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := version(db, isbn)
		old := version(db)
		a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Published: day0})
		b := NewArticle(Article{Section: "s", Slug: "b", ISBN: ptr("2"), Published: day0})
		check(t, old.Create(ctx, NewArticle(Article{Section: "s", Slug: "first", Published: day0})))
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
		check(t, s.Create(ctx, a))
		check(t, old.Create(ctx, b))
		want := func(err error) {
			t.Helper()
			e := wantAs[*persistable.UniqueError](t, err)
			if diff := cmp.Diff(&persistable.UniqueError{Type: "Article", Index: "Article_ISBN", Fields: []string{"ISBN"}, Values: tuple.Tuple{"1"}, Owner: a.ID}, e); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		want(old.Create(ctx, NewArticle(Article{Section: "s", Slug: "c", ISBN: ptr("1"), Published: day0})))
		taken := *b
		taken.ISBN = ptr("1")
		want(old.Save(ctx, &taken))
		want(old.Update(ctx, b.ID, func(v *Article) error { v.ISBN = ptr("1"); return nil }))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error { // the value goes from one record to another
			if err := old.In(tx).Delete(ctx, a.ID); err != nil {
				return err
			}
			return old.In(tx).Save(ctx, &taken)
		}))
		if got := must[*Article](t)(byISBN(s, "1")); got.ID != b.ID {
			t.Errorf("the owner is %s, want %s", got.ID, b.ID)
		}
		sound(t, s.Indexes().Verify)

		older := olderVersion(db)
		check(t, older.Update(ctx, b.ID, func(v *Article) error { v.Section = "x"; return nil }))
		check(t, older.Save(ctx, &Article{ID: b.ID, Section: "y", Slug: "b", Published: day0}))
		if got := must[*Article](t)(byISBN(s, "1")); got.Section != "y" {
			t.Errorf("the entry has %+v", got)
		}
		sound(t, s.Indexes().Verify)
	})
}

// A unique index on a field that an older program has and one that it does not have: a
// change of the first makes a new key with what is kept of the second.
func TestOlderProgramChecksValuesThatItKeeps(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		schema := articleSchemaWith(articleIndex{Definition: index.Definition{
			Name: "Article_Section_ISBN", Fields: []string{"Section", "ISBN"}, Unique: true, Sparse: []string{"ISBN"}, Signature: "string,*string",
		}})
		schema.Entries = func(_ int, e *index.Entries, v any) {
			if a := v.(*Article); a.ISBN != nil {
				e.End(persistimpl.AppendString(persistimpl.AppendString(e.Begin(), a.Section), *a.ISBN))
			}
		}
		newer, old := articlesOf(db, schema), olderVersion(db)
		a := NewArticle(Article{Section: "a", Slug: "1", ISBN: ptr("1"), Published: day0})
		b := NewArticle(Article{Section: "b", Slug: "2", ISBN: ptr("1"), Published: day0})
		check(t, newer.Create(ctx, a))
		check(t, newer.Create(ctx, b))
		moved := &Article{ID: b.ID, Section: "a", Slug: "2", Published: day0}
		for name, err := range map[string]error{
			"Save":   old.Save(ctx, moved),
			"Update": old.Update(ctx, b.ID, func(v *Article) error { v.Section = "a"; return nil }),
		} {
			e := wantAs[*persistable.UniqueError](t, err)
			if e.Index != "Article_Section_ISBN" || e.Owner != a.ID {
				t.Errorf("%s: %+v", name, e)
			}
		}
		moved.Section = "c"
		check(t, old.Save(ctx, moved))
		sound(t, newer.Indexes().Verify)
	})
}

// byISBN asks the schema's first index.
func byISBN(s *ArticleStore, number string) (*Article, error) {
	return persistimpl.Unique(ctx, &s.Store, 0, persistimpl.AppendString(nil, number))
}

// The entries of two programs of different age, which write at random, are those of
// one that has all indexes.
func TestProgramsOfDifferentAge(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		s := ArticleStoreOf(db)
		all := articles(t, s, 8)
		programs := []*ArticleStore{s, olderVersion(db), version(db), version(db, tags, isbn), version(db, published, editor)}
		for range 150 {
			a := changeRandomly(random, all)
			p := programs[random.IntN(len(programs))]
			var err error
			switch random.IntN(4) {
			case 0:
				err = p.Delete(ctx, a.ID)
			case 1:
				err = p.Update(ctx, a.ID, func(v *Article) error { v.Section, v.Tags = a.Section, a.Tags; return nil })
			default:
				err = p.Save(ctx, a)
			}
			var taken *persistable.UniqueError
			if err != nil && !errors.As(err, &taken) && !errors.Is(err, persistable.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
			t.Errorf("not readable: %v", r.Skipped)
		}
	})
}

// changeRandomly returns another form of one of the articles.
func changeRandomly(r *rand.Rand, all []*Article) *Article {
	some := func() *string {
		if r.IntN(3) == 0 {
			return nil
		}
		return ptr(fmt.Sprint(r.IntN(6)))
	}
	a := *all[r.IntN(len(all))]
	a.Section, a.ISBN, a.Editor, a.Published = fmt.Sprint(r.IntN(3)), some(), some(), day0.AddDate(0, 0, r.IntN(3))
	a.Tags = nil
	for range r.IntN(4) {
		a.Tags = append(a.Tags, fmt.Sprint(r.IntN(3)))
	}
	if r.IntN(10) == 0 {
		a.Body = make([]byte, 150_000)
	}
	return &a
}

// What the indexes of other programs cost in rounds: nothing for a new record; one more
// for a stored one, if an index is unique and the record has fields that the program
// does not have.
func TestRoundsOfForeignIndexes(t *testing.T) {
	unscattered(t)
	for name, c := range map[string]struct {
		newer []int
		old   func(*persistable.DB) *ArticleStore
		want  [3]int // of Create, Save, Delete
	}{
		"no foreign index":               {[]int{sectionSlug}, olderVersion, [3]int{1, 1, 1}},
		"a foreign index":                {[]int{sectionSlug, tags, editor}, olderVersion, [3]int{1, 1, 1}},
		"a unique one":                   {[]int{sectionSlug, isbn}, olderVersion, [3]int{1, 2, 1}},
		"a unique one, of a known field": {[]int{sectionSlug, isbn}, func(db *persistable.DB) *ArticleStore { return version(db) }, [3]int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			counter := faults.NewCounter(enginetest.Open(t))
			db := open(t, counter)
			s, old := version(db, c.newer...), c.old(db)
			a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x"}, Published: day0})
			check(t, s.Create(ctx, a))
			check(t, old.Create(ctx, NewArticle(Article{Section: "s", Slug: "open", Published: day0})))
			changed := &Article{ID: a.ID, Section: "t", Slug: "a", ISBN: ptr("3"), Published: day0}
			for i, run := range []func() error{
				func() error {
					return old.Create(ctx, NewArticle(Article{Section: "s", Slug: "b", ISBN: ptr("2"), Published: day0}))
				},
				func() error { return old.Save(ctx, changed) },
				func() error { return old.Delete(ctx, a.ID) },
			} {
				counts, err := counter.Measure(run)
				check(t, err)
				if counts.Rounds != c.want[i] {
					t.Errorf("operation %d takes %d rounds, want %d", i, counts.Rounds, c.want[i])
				}
			}
		})
	}
}

// An index that this program cannot maintain makes every write fail, and none of them
// writes anything. Reads go on, and Indexes().RemoveUnused is the way out.
func TestForeignIndexThatCannotBeMaintained(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*articleIndex)
		reason string
	}{
		"a kind of key that only Go code makes": {func(ix *articleIndex) { ix.Signature = "text(a/b.C)" }, "Go code"},
		"a field that the schema does not have": {func(ix *articleIndex) { ix.Fields = []string{"Nonsense"} }, "no field Nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			foreign := indexOfArticles(editor)
			c.change(&foreign)
			newer, old := versionWith(db, foreign), version(db)
			a := articles(t, newer, 1)[0]
			before := dump(t, db)
			for name, err := range map[string]error{
				"Create":      old.Create(ctx, NewArticle(Article{Section: "s", Slug: "x", Published: day0})),
				"Save":        old.Save(ctx, a),
				"Update":      old.Update(ctx, a.ID, func(a *Article) error { a.Section = "x"; return nil }),
				"Delete":      old.Delete(ctx, a.ID),
				"Transact":    db.Transact(ctx, func(tx persistable.Tx) error { return old.In(tx).Save(ctx, a) }),
				"olderSchema": olderVersion(db).Save(ctx, a),
			} {
				t.Log(name)
				wantError(t, err, persistable.ErrForeignIndex, ": Article: nothing was written: the store has the index Article_Editor ("+foreign.Layout()+"), ", c.reason, "Indexes().RemoveUnused")
			}
			if diff := cmp.Diff(before, dump(t, db)); diff != "" {
				t.Errorf("a refused write has written (-before +after):\n%s", diff)
			}
			must[*Article](t)(old.Get(ctx, a.ID))
			if n := must[int](t)(old.Scan().Count(ctx)); n != 1 {
				t.Errorf("%d records, want 1", n)
			}
			check(t, newer.Save(ctx, a))
			check(t, old.Indexes().RemoveUnused(ctx))
			check(t, old.Save(ctx, a))
		})
	}
}

// Two programs that have an index under one name in two layouts: the store has that of
// the program that built it last, and both maintain it. The other's queries are refused.
func TestOneIndexInTwoLayouts(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		covering := indexOfArticles(tags)
		covering.Cover = true
		plain, cover := version(db, tags), versionWith(db, covering)
		writeWithBoth := func() {
			t.Helper()
			for i, s := range []*ArticleStore{plain, cover} {
				a := NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"all", fmt.Sprint(i)}, Published: day0})
				check(t, s.Create(ctx, a))
				check(t, s.Update(ctx, a.ID, func(a *Article) error { a.Section = "changed"; return nil }))
			}
		}
		holds := func(yes, no *ArticleStore, n int) {
			t.Helper()
			if got := must[int](t)(byTag(yes, "all").Count(ctx)); got != n {
				t.Errorf("%d entries, want %d", got, n)
			}
			if r := sound(t, yes.Indexes().Verify); len(r.Skipped) > 0 {
				t.Errorf("not readable: %v", r.Skipped)
			}
			wantError(t, second(byTag(no, "all").Count(ctx)), persistable.ErrNotBuilt, " is disabled in this store")
		}
		articles(t, plain, 3)
		writeWithBoth()
		holds(plain, cover, 5)
		check(t, cover.Indexes().Build(ctx, persistable.BuildOptions{}))
		writeWithBoth()
		holds(cover, plain, 7)
		check(t, plain.Indexes().Build(ctx, persistable.BuildOptions{}))
		writeWithBoth()
		holds(plain, cover, 9)
	})
}

// A newer program's unique index holds within a batch of an older one: two records with
// one value, and a value that is handed over.
func TestOlderProgramBatches(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		newer, old := version(db, isbn), version(db)
		check(t, newer.Create(ctx, NewArticle(Article{Section: "s", Slug: "first", Published: day0})))
		article := func(isbn string) *Article {
			return NewArticle(Article{Section: "s", Slug: isbn, ISBN: &isbn, Published: day0})
		}
		all := []*Article{article("1"), article("2"), article("1"), article("3")}
		err := old.CreateMany(ctx, all, persistable.BatchOptions{})
		e := wantAs[*persistable.PartialError](t, err)
		if u := wantAs[*persistable.UniqueError](t, err); e.Done != 2 || u.Index != "Article_ISBN" || u.Owner != all[0].ID {
			t.Errorf("%v", err)
		}
		all[0].ISBN, all[1].ISBN = ptr("free"), ptr("1")
		check(t, old.SaveMany(ctx, all[:2], persistable.BatchOptions{}))
		if a := must[*Article](t)(byISBN(newer, "1")); a.ID != all[1].ID {
			t.Errorf("the value belongs to %s", a.ID)
		}
		if n := must[int](t)(old.DeleteWhere(ctx, old.Scan(), persistable.BatchOptions{})); n != 3 {
			t.Errorf("%d records were deleted", n)
		}
		if r := sound(t, newer.Indexes().Verify); r.Entries != 0 {
			t.Errorf("%d entries are left", r.Entries)
		}
	})
}

// The indexes that a program cannot maintain stop its batches, too.
func TestBatchesBesideAnIndexThatCannotBeMaintained(t *testing.T) {
	db := open(t, enginetest.Open(t))
	foreign := indexOfArticles(editor)
	foreign.Signature = "text(a/b.C)"
	newer, old := versionWith(db, foreign), version(db)
	a := articles(t, newer, 1)[0]
	another := NewArticle(Article{Section: "s", Slug: "x", Published: day0})
	_, _, err := old.GetOrCreate(ctx, another)
	for name, err := range map[string]error{
		"CreateMany":        old.CreateMany(ctx, []*Article{another}, persistable.BatchOptions{}),
		"SaveMany":          old.SaveMany(ctx, []*Article{a}, persistable.BatchOptions{}),
		"DeleteWhere":       second(old.DeleteWhere(ctx, old.Scan(), persistable.BatchOptions{})),
		"DeleteMany":        persistable.DeleteMany(ctx, &old.Store, []string{a.ID}, persistable.BatchOptions{}),
		"DeleteIfUnchanged": old.DeleteIfUnchanged(ctx, a),
		"GetOrCreate":       err,
	} {
		t.Log(name)
		wantError(t, err, persistable.ErrForeignIndex, "has the index Article_Editor (")
	}
	if n := must[int](t)(newer.Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	sound(t, newer.Indexes().Verify)
}
