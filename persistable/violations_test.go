// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestViolationsArePaged builds a unique index over 240 records of which each value has
// three: all 160 violations are listed, each once, the list follows as they are solved
// one by one, and the index becomes readable in the end.
func TestViolationsArePaged(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, s := kindStore(db, 0), kindStore(db, 0, uniqueSlug)
	for i := range 240 {
		a := smallArticle(i)
		a.Slug = fmt.Sprint(i % 80)
		check(t, old.Create(ctx, a))
	}
	e := wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx))
	if len(e.Violations) != 100 || !e.More {
		t.Errorf("the error has %d violations, more: %v", len(e.Violations), e.More)
	}
	ids := violatingIDs(t, s)
	if len(ids) != 160 {
		t.Fatalf("%d violations, want 160", len(ids))
	}
	for i, id := range ids[:3] {
		check(t, s.Delete(ctx, id))
		if left := violatingIDs(t, s); len(left) != 159-i {
			t.Errorf("%d violations after %d were solved", len(left), i+1)
		}
	}
	check(t, s.Delete(ctx, "000")) // an owner, whose value 080 has, too
	if left := violatingIDs(t, s); len(left) != 156 {
		t.Errorf("%d violations after an owner went, want 156", len(left))
	}
	for _, id := range violatingIDs(t, s) {
		check(t, s.Delete(ctx, id))
	}
	if left := violatingIDs(t, s); len(left) > 0 {
		t.Errorf("%d violations are left", len(left))
	}
	check(t, s.Indexes().Build(ctx))
	sound(t, s.Indexes().Verify)
}

// violatingIDs returns the ids of all violations of uniqueSlug, page by page.
func violatingIDs(t *testing.T, s *ArticleStore) (ids []string) {
	t.Helper()
	seen := map[string]bool{}
	for token := ""; ; {
		page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), token))
		for _, v := range page.Violations {
			id := v.ID.(string)
			if seen[id] || v.Owner == id {
				t.Errorf("a wrong violation: %+v", v)
			}
			seen[id] = true
			ids = append(ids, id)
		}
		if token = page.Next; token == "" {
			return ids
		}
	}
}

// TestViolationsOfAnotherDirectory: the token of a page outlives the directory. In another one
// at the same path the list begins anew, and no keys between the two are read.
func TestViolationsOfAnotherDirectory(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, s := kindStore(db, 0), kindStore(db, 0, uniqueSlug)
	fill := func() {
		for i := range 130 {
			a := smallArticle(i)
			a.Slug = fmt.Sprint(i % 10)
			check(t, old.Create(ctx, a))
		}
		wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx))
	}
	fill()
	first := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), ""))
	for range 4 { // prefixes are drawn at random: before and after the one of the token
		check(t, db.RemoveDirectory(ctx, s.Path()...))
		fill()
		page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), first.Next))
		if len(page.Violations) == 0 || page.Violations[0].ID != first.Violations[0].ID {
			t.Errorf("the page has %d violations, want those of the first page", len(page.Violations))
		}
	}
}

func TestViolationsOfWrongArguments(t *testing.T) {
	s := kindStore(open(t, enginetest.Open(t)), 0, uniqueSlug, valueOfTags)
	wantAs[*persistable.NoIndexError](t, second(s.Indexes().Violations(ctx, valueOfTags.Name, "")))
	if _, err := s.Indexes().Violations(ctx, uniqueSlug.KeyName(), "x"); !errors.Is(err, persistable.ErrBadToken) {
		t.Errorf("a wrong token: %v", err)
	}
}
