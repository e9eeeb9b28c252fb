// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
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
		{"GetMany", budget{1, 3, 0, 0, 0}, func() error { return second(orders.GetMany(ctx, []idgen.ID{all[0].ID, all[1].ID, 5})) }},
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
				return second(orders.In(tx).GetMany(ctx, []idgen.ID{all[0].ID, all[3].ID}))
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

// TestBudgetsOfKinds pins what the kinds cost: an index of a kind adds no round to a
// write, and a read of a group is one key.
func TestBudgetsOfKinds(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	all := SaleStoreOf(db)
	check(t, all.Create(ctx, &Sale{ID: "1", Country: "a", Tags: []string{"a", "b", "a"}, Amount: 1, Units: 1, CreatedAt: day0, Discount: ptr(int64(1)), Code: ptr("c")}))
	must[*Sale](t)(all.Get(ctx, "1")) // opens it
	budgets := []struct {
		name string
		want [5]int // rounds, gets, ranges, writes, commits
		run  func() error
	}{
		{"Count", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.CountAll(ctx)) }},
		{"Count of a group", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.CountByTags(ctx, "a")) }},
		{"Sum", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.SumAmountByStatus(ctx, Pending)) }},
		{"Counts", [5]int{1, 0, 1, 0, 0}, func() error { return drain(all.CountsByTags(ctx)) }},
		{"Sums", [5]int{1, 0, 1, 0, 0}, func() error { return drain(all.SumsUnitsByTags(ctx)) }},
		{"Min", [5]int{1, 0, 1, 0, 0}, func() error { return third(all.MinAmountByCountry(ctx, "a")) }},
		{"Max, descending", [5]int{1, 0, 1, 0, 0}, func() error { return third(all.MaxCreatedAtByStatus(ctx, Pending)) }},
		{"Min, 4 shards", [5]int{1, 0, 4, 0, 0}, func() error { return third(all.MinDiscount(ctx)) }},
		{"rows", [5]int{1, 0, 1, 0, 0}, func() error { return second(all.ByCountryAmountRows("a").Slice(ctx)) }},
		{"records of entries with copies", [5]int{2, 1, 1, 0, 0}, func() error { return second(all.ByCountryAmount("a").Slice(ctx)) }},
		{"unique with copies", [5]int{2, 2, 0, 0, 0}, func() error { return second(all.ByCode(ctx, "c")) }},
	}
	for _, c := range budgets {
		t.Run(c.name, func(t *testing.T) { checkBudget(t, counter, c.want, c.run) })
	}
	for name, c := range map[string]struct {
		indexes []int
		was, is *Sale
		want    int // writes, that of the record among them
	}{
		"a new one of a group":                {[]int{1}, nil, &Sale{ID: "x"}, 2},
		"a new one of two groups":             {[]int{2}, nil, &Sale{ID: "x", Tags: []string{"a", "b", "a"}}, 3},
		"another group":                       {[]int{1}, &Sale{ID: "x"}, &Sale{ID: "x", Country: "a"}, 4},
		"the same group":                      {[]int{1, 2}, &Sale{ID: "x", Tags: []string{"a"}}, &Sale{ID: "x", Tags: []string{"a", "a"}}, 1},
		"the last of a group goes":            {[]int{1}, &Sale{ID: "x"}, nil, 3},
		"an amount":                           {[]int{4}, nil, &Sale{ID: "x", Amount: 1}, 3},
		"an amount of 0":                      {[]int{4}, nil, &Sale{ID: "x"}, 1},
		"the same amount":                     {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 1, Country: "a"}, 1},
		"another amount":                      {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 5}, 3},
		"another group of an amount":          {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 1, Status: Paid}, 5},
		"not in the partial index":            {[]int{9, 11}, nil, &Sale{ID: "x", Status: Paid}, 1},
		"into the partial index":              {[]int{9}, &Sale{ID: "x", Status: Paid}, &Sale{ID: "x", Status: Paid, Amount: 1}, 2},
		"out of the partial index":            {[]int{9}, &Sale{ID: "x", Status: Paid, Amount: 1}, &Sale{ID: "x", Amount: 1}, 2},
		"within the partial index":            {[]int{9}, &Sale{ID: "x", Status: Paid, Amount: 1}, &Sale{ID: "x", Status: Paid, Amount: 2}, 1},
		"a field that is copied":              {[]int{8}, &Sale{ID: "x", Units: 1}, &Sale{ID: "x", Units: 2}, 2},
		"a field that is not":                 {[]int{8}, &Sale{ID: "x", Units: 1}, &Sale{ID: "x", Units: 1, Status: Paid}, 1},
		"a field that a unique entry copies":  {[]int{10}, &Sale{ID: "x", Code: ptr("c"), Amount: 1}, &Sale{ID: "x", Code: ptr("c"), Amount: 2}, 2},
		"a unique entry that copies, removed": {[]int{10}, &Sale{ID: "x", Code: ptr("c"), Amount: 1}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := salesWith(open(t, counter), c.indexes...)
			check(t, db.RemoveDirectory(ctx, "sales"))
			check(t, s.Save(ctx, &Sale{ID: "another", Status: Shipped}))
			must[*Sale](t)(s.Get(ctx, "another")) // opens it
			if c.was != nil {
				check(t, s.Save(ctx, c.was))
			}
			write := func() error { return s.Delete(ctx, "x") }
			if c.is != nil {
				write = func() error { return s.Save(ctx, c.is) }
			}
			gets := 1
			if c.is != nil && c.is.Code != nil {
				gets = 2
			}
			checkBudget(t, counter, [5]int{1, gets, 0, c.want, 1}, write)
		})
	}
}

func checkBudget(t *testing.T, counter *faults.Counter, want [5]int, run func() error) {
	t.Helper()
	counts, err := counter.Measure(run)
	check(t, err)
	if diff := cmp.Diff(want, [5]int{counts.Rounds, counts.Gets, counts.Ranges, counts.Writes, counts.Commits}); diff != "" {
		t.Errorf("it cost %v (-want +got):\n%s", counts, diff)
	}
}

func drain[G any](groups func(func(G, error) bool)) error {
	for _, err := range groups {
		if err != nil {
			return err
		}
	}
	return nil
}
