// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

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
		if e := wantAs[*persistable.ForeignIndexError](t, err); e.Index != "Article_Editor" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := must[int](t)(newer.Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	sound(t, newer.Indexes().Verify)
}
