// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// uniqueTags is a unique index over a slice: many entries of one record.
func uniqueTags(cover bool) articleIndex {
	ix := indexOfArticles(tags)
	ix.Unique, ix.Cover, ix.Scatter = true, cover, 0
	return ix
}

// tagged creates an article with n tags of its own and a body.
func tagged(t testing.TB, s *ArticleStore, slug string, n, body int) {
	t.Helper()
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%04d-%s", slug, i, strings.Repeat("x", 12)))
	}
	check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: slug, Tags: all, Published: day0, Body: make([]byte, body)})))
}

// commits notes what each commit of the engine returned.
func commits(engine *faulty) *[]error {
	var all []error
	engine.begin(nil, func(_ int, commit func() error) error {
		err := commit()
		all = append(all, err)
		return err
	})
	return &all
}

func isTooLarge(err error) bool { return kv.CodeOf(err) == kv.CodeTransactionTooLarge }

// The entries of unique indexes are written at the end of a batch, but count
// when their records are added.
func TestBuildOfManyUniqueEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records, tags, body int
		cover               bool
	}{
		"plain":    {480, 64, 0, false},
		"covering": {60, 20, 20_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			engine := &faulty{Database: enginetest.Open(t)}
			db := open(t, engine)
			for i := range c.records {
				tagged(t, version(db), fmt.Sprintf("%03d", i), c.tags, c.body)
			}
			s := versionWith(db, uniqueTags(c.cover))
			all := commits(engine)
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			if slices.ContainsFunc(*all, isTooLarge) {
				t.Errorf("a batch was too large: %v", *all)
			}
			if n := must[int](t)(byIndex(s, 0).Count(ctx)); n != c.records*c.tags {
				t.Errorf("%d entries, want %d", n, c.records*c.tags)
			}
			sound(t, s.Indexes().Verify)
		})
	}
}

// A batch has room left when a record comes that fits only into a transaction
// of its own.
func TestBuildHalvesBatchesThatAreTooLarge(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	for i := range 5 { // small records first, so that batches grow
		tagged(t, version(db), fmt.Sprint("0", i), 2, 70_000)
	}
	tagged(t, version(db), "1", 102, 95_000)
	tagged(t, version(db), "2", 8, 90_000)
	s := versionWith(db, uniqueTags(true))
	all := commits(engine)
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	if !slices.ContainsFunc(*all, isTooLarge) {
		t.Errorf("no batch was too large: %v", *all)
	}
	if n := must[int](t)(byIndex(s, 0).Count(ctx)); n != 120 {
		t.Errorf("%d entries, want 120", n)
	}
	sound(t, s.Indexes().Verify)
}

// One record that fits into no transaction is reported, not tried for ever.
func TestBuildGivesUpOnARecordThatIsTooLarge(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	tagged(t, version(db), "0", 120, 95_000)
	err := versionWith(db, uniqueTags(true)).Indexes().Build(ctx, persistable.BuildOptions{})
	if !isTooLarge(err) {
		t.Errorf("got %v, want code %d", err, kv.CodeTransactionTooLarge)
	}
}

// A value and an id that do not fit into one key can be a violation.
func TestViolationsOfLongKeys(t *testing.T) {
	for name, c := range map[string]struct{ value, id int }{
		"values": {9_930, 10}, "ids": {10, 9_930}, "both": {9_930, 9_930}, "ids a little too long": {10, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			value := strings.Repeat("x", c.value)
			var all []*Article
			for i := range 3 {
				a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), ISBN: ptr(value), Published: day0})
				a.ID = strings.Repeat("i", c.id) + fmt.Sprint(i)
				check(t, version(db).Create(ctx, a))
				all = append(all, a)
			}
			s := version(db, isbn)
			e := wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			var ids []string
			for _, v := range e.Violations {
				if v.Owner != all[0].ID || !slices.Equal(v.Values, tuple.Tuple{value}) {
					t.Errorf("a violation of %.20v by %.20v", v.Values, v.Owner)
				}
				ids = append(ids, v.ID.(string))
			}
			slices.Sort(ids)
			if !slices.Equal(ids, []string{all[1].ID, all[2].ID}) {
				t.Errorf("violations of %d records: %.40q", len(ids), ids)
			}
			all[1].ISBN = nil // clears its violation
			check(t, s.Save(ctx, all[1]))
			if e = wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{})); len(e.Violations) != 1 {
				t.Errorf("%d violations are left, want 1", len(e.Violations))
			}
			check(t, s.Delete(ctx, all[2].ID))
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			sound(t, s.Indexes().Verify)
		})
	}
}

// TestBuildLayoutDocument stops the build of docs/layout.md after its first batch and
// compares the work list with the bytes shown there.
func TestBuildLayoutDocument(t *testing.T) {
	var db *persistable.DB
	prefix, sampled := "", int64(0)
	for len(prefix) != 2 || sampled > 0 { // the allocator picks a short one now and then, and the engine estimates sizes from keys that it picks by their hash
		db = openWith(t, mustMemory(), persistable.Options{BuildBatch: 2})
		for i := range 3 {
			check(t, kindStore(db, 0).Create(ctx, smallArticle(i)))
		}
		prefix = string(prefixOf(t, db, "articles"))
		check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
			sampled, err = tx.GetEstimatedRangeSizeBytes(kv.PrefixRange([]byte(prefix))).Get(ctx)
			return err
		}))
	}
	var got []string
	stop, cancel := context.WithCancel(ctx)
	hooked := worklist.WithHook(stop, func(s build.Stage) {
		if s == build.Moved {
			cancel()
			got = workList(t, dump(t, db), prefix)
		}
	})
	if err := kindStore(db, 0, countBySection, uniqueSlug).Indexes().Build(hooked, persistable.BuildOptions{}); err == nil {
		t.Fatal("the build was not stopped")
	}
	if diff := cmp.Diff(documentedBlock(t, "build"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestRecountLayoutDocument stops the verification of docs/layout.md when its recount is
// complete, and compares the entries of the recount with the bytes shown there.
func TestRecountLayoutDocument(t *testing.T) {
	db := openWith(t, mustMemory(), persistable.Options{})
	s := kindStore(db, 0, countBySection)
	for _, i := range []int{0, 1, 3} {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	prefix := string(prefixOf(t, db, "articles"))
	var got []string
	hooked := worklist.WithHook(ctx, func(stage build.Stage) {
		if stage != build.Finished {
			return
		}
		for key, value := range dump(t, db) {
			rest, _ := strings.CutPrefix(key, prefix)
			if strings.HasPrefix(rest, string(tuple.Tuple{"I", "Article_count_Section~recount"}.MustPack())) {
				got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+hex.EncodeToString(value))
			}
		}
		slices.Sort(got)
	})
	if _, err := s.Indexes().Verify(hooked, recount); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documentedBlock(t, "recount"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// workList returns the keys and values of a work list in hex, with names for the
// worker's id and the time that differ each time.
func workList(t *testing.T, all map[string][]byte, prefix string) (list []string) {
	for key, value := range all {
		rest, _ := strings.CutPrefix(key, prefix)
		if !strings.HasPrefix(rest, string(tuple.Tuple{"S", "Article", "build"}.MustPack())) {
			continue
		}
		var text strings.Builder
		for i, element := range must[tuple.Tuple](t)(tuple.Unpack(value)) {
			switch {
			case i == 2 && strings.Contains(rest, "range"):
				text.WriteString("<worker>")
			case i == 7:
				text.WriteString("<busy>")
			default:
				text.WriteString(hex.EncodeToString(tuple.Tuple{element}.MustPack()))
			}
		}
		list = append(list, "<dir>"+hex.EncodeToString([]byte(rest))+"="+text.String())
	}
	slices.Sort(list)
	return list
}
