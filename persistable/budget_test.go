// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestBudgets pins what each operation costs in round trips, with the directory
// opened before. Reads that are started together are one round.
func TestBudgets(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	all := someOrders(t, orders, 9)
	isbn := ptr("978")
	a := NewArticle(Article{Section: "s", Slug: "a", ISBN: isbn, Tags: []string{"x", "y"}, Published: day0})
	check(t, articles.Create(ctx, a))
	check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "b", Published: day1})))
	big := NewArticle(Article{Section: "big", Slug: "c", Published: day1, Body: make([]byte, 350_000)})
	check(t, articles.Create(ctx, big))
	must[*Order](t)(orders.Get(ctx, all[0].ID)) // open both
	must[*Article](t)(articles.Get(ctx, a.ID))

	type budget struct{ rounds, gets, ranges, writes, commits int }
	n := 0
	cases := []struct {
		name string
		want budget
		run  func() error
	}{
		{"Get", budget{1, 1, 0, 0, 0}, func() error { return second(orders.Get(ctx, all[0].ID)) }},
		{"Get of nothing", budget{1, 1, 0, 0, 0}, func() error { return ignore(second(orders.Get(ctx, 1)), persistable.ErrNotFound) }},
		{"Get of 4 chunks", budget{2, 4, 0, 0, 0}, func() error { return second(articles.Get(ctx, big.ID)) }},
		{"Exists", budget{1, 1, 0, 0, 0}, func() error { return second(orders.Exists(ctx, all[0].ID)) }},
		{"GetMany", budget{1, 3, 0, 0, 0}, func() error { return second(orders.GetMany(ctx, all[0].ID, all[1].ID, 5)) }},
		// One unique and two other indexes: the record and the unique key are read.
		{"Create", budget{1, 2, 0, 4, 1}, func() error {
			n++
			return orders.Create(ctx, orders.New(Order{Number: fmt.Sprint("n", n), Status: Paid, CreatedAt: day0, Amount: 1}))
		}},
		// Two unique indexes, four others, two tags: 3 reads, 1+2+3+2 writes.
		{"Create, many indexes", budget{1, 3, 0, 8, 1}, func() error {
			n++
			return articles.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(n), ISBN: ptr(fmt.Sprint(n)), Tags: []string{"x", "y"}, Published: day0}))
		}},
		{"Save, nothing changed", budget{1, 2, 0, 0, 1}, func() error { return orders.Save(ctx, all[0]) }},
		{"Save of 4 chunks, nothing changed", budget{2, 5, 0, 0, 1}, func() error { return articles.Save(ctx, big) }},
		{"Save, no indexed field changed", budget{1, 2, 0, 1, 1}, func() error {
			all[4].Amount++
			return orders.Save(ctx, all[4])
		}},
		{"Update", budget{1, 1, 0, 1, 1}, func() error {
			return orders.Update(ctx, all[7].ID, func(o *Order) error { o.Amount++; return nil })
		}},
		{"Update of an index", budget{1, 1, 0, 5, 1}, func() error {
			return orders.Update(ctx, all[7].ID, func(o *Order) error { o.Status = Shipped; return nil })
		}},
		{"Update of a unique value", budget{2, 2, 0, 3, 1}, func() error {
			return orders.Update(ctx, all[7].ID, func(o *Order) error { o.Number = "updated"; return nil })
		}},
		{"Update, nothing changed", budget{1, 1, 0, 0, 1}, func() error {
			return orders.Update(ctx, all[7].ID, func(*Order) error { return nil })
		}},
		{"Save, indexes changed", budget{1, 2, 0, 7, 1}, func() error {
			changed := *all[1]
			changed.Number, changed.Status = "new number", Shipped
			return orders.Save(ctx, &changed)
		}},
		{"Delete", budget{1, 1, 0, 4, 1}, func() error { return orders.Delete(ctx, all[2].ID) }},
		{"By unique", budget{2, 2, 0, 0, 0}, func() error { return second(orders.ByNumber(ctx, "00")) }},
		{"By unique, covering", budget{1, 1, 0, 0, 0}, func() error { return second(articles.ByISBN(ctx, isbn)) }},
		{"index scan", budget{2, 2, 1, 0, 0}, func() error { return second(orders.ByStatus(Pending).Limit(2).Slice(ctx)) }},
		{"index scan, covering", budget{1, 0, 1, 0, 0}, func() error {
			return second(articles.BySectionPublished("s").Limit(2).Slice(ctx))
		}},
		{"scan by id", budget{1, 0, 1, 0, 0}, func() error { return second(orders.Scan().Slice(ctx)) }},
		{"page", budget{2, 3, 1, 0, 0}, func() error { return second(orders.ByStatus(Pending).Limit(2).Page(ctx, "")) }},
		{"count", budget{1, 0, 1, 0, 0}, func() error { return second(orders.ByStatus(Pending).Count(ctx)) }},
		{"in a transaction", budget{1, 2, 0, 0, 1}, func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				return second(orders.In(tx).GetMany(ctx, all[0].ID, all[3].ID))
			})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			counts, err := counter.Measure(c.run)
			check(t, err)
			got := budget{counts.Rounds, counts.Gets, counts.Ranges, counts.Writes, counts.Commits}
			if got != c.want {
				t.Errorf("it cost %v,\n  that is %+v, want %+v", counts, got, c.want)
			}
		})
	}
}
