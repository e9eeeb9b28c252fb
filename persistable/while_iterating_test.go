// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDeleteWhileIteratingAnIndex deletes each record that a query of the same
// transaction yields, whose entries are two each.
func TestDeleteWhileIteratingAnIndex(t *testing.T) {
	for _, size := range []int{10, 150_000} {
		db := open(t, enginetest.Open(t))
		s := ArticleStoreOf(db)
		for i := range 3 {
			check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Tags: []string{"x", "y"}, Published: day0, Body: make([]byte, size)})))
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			for a, err := range s.In(tx).OrderedByTags().All(ctx) {
				if err != nil {
					return err
				}
				if err := s.In(tx).Delete(ctx, a.ID); err != nil {
					return err
				}
			}
			return nil
		}))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 0 {
			t.Errorf("%d records of %d bytes are left", n, size)
		}
	}
}

// TestDeleteAheadOfAScan deletes all records, of one value and of several, at
// the first that a scan of the same transaction yields.
func TestDeleteAheadOfAScan(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		db := open(t, enginetest.Open(t))
		s := ArticleStoreOf(db)
		var all []*Article
		for i, size := range []int{10, 150_000, 10, 150_000} {
			a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, size)})
			a.ID = fmt.Sprint(i)
			check(t, s.Create(ctx, a))
			all = append(all, a)
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			scan := s.In(tx).Scan()
			if reverse {
				scan = scan.Reverse()
			}
			for _, err := range scan.All(ctx) {
				if err != nil {
					return err
				}
				for _, a := range all {
					if err := s.In(tx).Delete(ctx, a.ID); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
}
