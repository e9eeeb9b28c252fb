// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// found is the query of conditions that an index serves.
func found[T any](t testing.TB) func(*persistable.Query[T], error) *persistable.Query[T] {
	return must[*persistable.Query[T]](t)
}

// TestFindCosts pins what each kind of plan costs in rounds, reads of ranges and of
// keys.
func TestFindCosts(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	someOrders(t, orders, 30)
	for i := range 20 {
		a := Article{Section: "s", Slug: string(rune('a' + i)), Published: day0}
		if i%4 == 0 {
			a.Editor = ptr("ann")
		}
		if i%2 == 0 {
			a.Tags = []string{"x"}
		}
		check(t, articles.Create(ctx, NewArticle(a)))
	}
	f, a := OrderFields, ArticleFields
	list := func(q *persistable.Query[*Order]) func() error {
		return func() error { return second(q.Slice(ctx)) }
	}
	type budget struct{ rounds, gets, ranges int }
	for name, c := range map[string]struct {
		want budget
		run  func() error
	}{
		"filter":            {budget{2, 10, 1}, list(found[*Order](t)(orders.Find(f.Status.Equal(Paid), f.Amount.From(20))))},
		"scan":              {budget{1, 0, 1}, list(found[*Order](t)(orders.AllowScan().Find(f.Amount.From(20))))},
		"in, merged":        {budget{2, 20, 2}, list(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))))},
		"in, merged, limit": {budget{2, 4, 2}, list(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))).Limit(4))},
		"in, one by one":    {budget{2, 3, 3}, list(found[*Order](t)(orders.Find(f.Number.In("01", "02", "03"))))},
		"or of two indexes": {budget{2, 11, 2}, list(found[*Order](t)(orders.Find(persistable.Or(f.Status.Equal(Paid), f.Number.Equal("02")))))},
		"intersection": {budget{2, 5, 2}, func() error {
			return second(found[*Article](t)(articles.Find(a.Editor.Equal(ptr("ann")), a.Tags.Equal("x"))).Slice(ctx))
		}},
		"page of lanes": {budget{2, 6, 2}, func() error {
			return second(found[*Order](t)(orders.Find(f.Status.In(Paid, Shipped))).Limit(5).Page(ctx, ""))
		}},
		"filter, covered": {budget{1, 0, 1}, func() error {
			return second(found[*Article](t)(articles.Find(a.Section.Equal("s"), a.Published.From(day0), a.Editor.Equal(ptr("ann")))).Slice(ctx))
		}},
		"first of a long range": {budget{2, 1, 1}, func() error { return second(orders.FindOne(ctx, f.Status.Equal(Paid))) }},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, c.run()) // opens the store
			counts, err := counter.Measure(c.run)
			check(t, err)
			if got := (budget{counts.Rounds, counts.Gets, counts.Ranges}); got != c.want {
				t.Errorf("it cost %v,\n  that is %+v, want %+v", counts, got, c.want)
			}
		})
	}
}

// TestFilterLimit reads as many keys as a query may, and one more.
func TestFilterLimit(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		someOrders(t, s, 30) // ten of each status
		f := OrderFields
		tag := "_ persistable.Index `persist:\"Status,Amount\"`"
		for name, c := range map[string]struct {
			query *persistable.Query[*Order]
			tag   string
			keys  int // that it reads
		}{
			"filter": {found[*Order](t)(s.Find(f.Status.Equal(Paid), f.Amount.From(20))), tag, 10},
			"scan":   {found[*Order](t)(s.AllowScan().Find(f.Amount.From(20))), "_ persistable.Index `persist:\"Amount\"`", 30},
			"lanes":  {found[*Order](t)(s.Find(f.Status.In(Paid, Shipped), f.Amount.From(20))), "", 20},
		} {
			if _, err := c.query.FilterLimit(c.keys).Slice(ctx); err != nil {
				t.Errorf("%s: %d keys: %v", name, c.keys, err)
			}
			n, err := 0, error(nil)
			for _, err = range c.query.FilterLimit(c.keys - 1).All(ctx) {
				n++
			}
			e := wantAs[*persistable.FilterLimitError](t, err)
			if e.Keys != c.keys-1 || e.Tag != c.tag || e.Type != "Order" {
				t.Errorf("%s: %+v", name, e)
			}
			if _, err := c.query.FilterLimit(0).Count(ctx); err != nil {
				t.Errorf("%s: no limit: %v", name, err)
			}
		}
		in := found[*Order](t)(s.Find(f.Status.In(Paid, Shipped))).FilterLimit(1)
		if all := must[[]*Order](t)(in.Slice(ctx)); len(all) != 20 {
			t.Errorf("lanes that leave nothing out yield %d records", len(all))
		}
	})
}

// TestLanesInATransaction changes and deletes records in the loop over a query with
// several lanes, in the same transaction.
func TestLanesInATransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		f := OrderFields
		for name, conditions := range map[string][]persistable.Condition[*Order]{
			"merged":   {f.Status.In(Pending, Paid)},
			"sequence": {persistable.Or(f.Status.Equal(Pending), f.Number.From("0"))},
			"filter":   {f.Status.In(Pending, Paid), f.Amount.From(0)},
		} {
			for _, o := range must[[]*Order](t)(s.Scan().Slice(ctx)) {
				check(t, s.Delete(ctx, o.ID))
			}
			all := someOrders(t, s, 12)
			var seen []string
			check(t, db.Transact(ctx, func(tx persistable.Tx) error {
				seen = nil
				bound := s.In(tx)
				q, err := bound.Find(conditions...)
				if err != nil {
					return err
				}
				for o, err := range q.All(ctx) {
					if err != nil {
						return err
					}
					seen = append(seen, o.Number)
					if len(seen) == 1 {
						for _, other := range all[3:] {
							if err := bound.Delete(ctx, other.ID); err != nil {
								return err
							}
						}
					}
				}
				return nil
			}))
			if slices.Sort(seen); len(slices.Compact(seen)) != len(seen) || !slices.Contains(seen, "00") || !slices.Contains(seen, "01") {
				t.Errorf("%s: seen are %v", name, seen)
			}
		}
	})
}

// TestTokensOfLanes opens the token of one query in others.
func TestTokensOfLanes(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, s, 30)
	f := OrderFields
	find := func(c ...persistable.Condition[*Order]) *persistable.Query[*Order] {
		return found[*Order](t)(s.Find(c...)).Limit(2)
	}
	first := must[persistable.Page[*Order]](t)(find(f.Status.In(Paid, Shipped)).Page(ctx, ""))
	for name, q := range map[string]*persistable.Query[*Order]{
		"other values": find(f.Status.In(Paid, Pending)),
		"a filter":     find(f.Status.In(Paid, Shipped), f.Amount.From(0)),
		"one lane":     find(f.Status.Equal(Paid)),
		"reverse":      find(f.Status.In(Paid, Shipped)).Reverse(),
	} {
		_, err := q.Page(ctx, first.Next)
		if wantError(t, err, persistable.ErrBadToken); t.Failed() {
			t.Log(name)
		}
	}
	filtered := must[persistable.Page[*Order]](t)(find(f.Status.Equal(Paid), f.Amount.From(1)).Page(ctx, ""))
	_, err := find(f.Status.Equal(Paid), f.Amount.From(2)).Page(ctx, filtered.Next)
	wantError(t, err, persistable.ErrBadToken)
}
