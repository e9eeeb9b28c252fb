// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// explainer is a query of any type.
type explainer interface {
	Explain(ctx context.Context) (*persistable.Explanation, error)
}

// TestExplain pins the text of each form of a plan, and that the rounds which it tells are
// those that the query takes.
func TestExplain(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	orders, articles, sales := OrderStoreOf(db, "t"), ArticleStoreOf(db), SaleStoreOf(db)
	someOrders(t, orders, 30)
	check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", Published: day0, Editor: ptr("ann"), Tags: []string{"x"}})))
	check(t, sales.Save(ctx, &Sale{ID: "1", Status: 1, Amount: 3, CreatedAt: day0, Editor: ptr("e"), Discount: ptr(int64(5))}))
	o, a, s := OrderFields, ArticleFields, SaleFields
	order := func(c ...persistable.Condition[*Order]) *persistable.Query[*Order] {
		return found[*Order](t)(orders.AllowScan().Find(c...))
	}
	article := func(c ...persistable.Condition[*Article]) *persistable.Query[*Article] {
		return found[*Article](t)(articles.Find(c...))
	}
	sale := func(c ...persistable.Condition[*Sale]) *persistable.Query[*Sale] {
		return found[*Sale](t)(sales.Find(c...))
	}
	for name, c := range map[string]struct {
		query explainer
		want  string
	}{
		"one range": {order(o.Status.Equal(Paid), o.CreatedAt.From(day0)).Limit(7).Reverse(), `Order: one range, ordered by CreatedAt, id, in reverse, at most 7 records; rounds: 2
  index Order_Status_CreatedAt: Status=1, CreatedAt>=2026-03-01T09:00:00Z; fetches records`},
		"filter": {order(o.Status.Equal(Paid), o.Amount.After(20)), `Order: one range, ordered by id; rounds: 2; reads at most 10000 keys
  index Order_Status: Status=1; filter: Status=1 and Amount>20; fetches records`},
		"scan": {order(o.Amount.After(20)), `Order: one range, ordered by id; rounds: 1; reads at most 10000 keys
  records; filter: Amount>20`},
		"all records": {orders.Scan(), `Order: one range, ordered by id; rounds: 1
  records`},
		"merged": {order(o.Status.In(Paid, Shipped)), `Order: lanes, merged, ordered by id; rounds: 2
  index Order_Status: Status=1; fetches records
  index Order_Status: Status=2; fetches records`},
		"one by one": {order(persistable.Or(o.Status.Equal(Paid), o.Number.Equal("02"))).FilterLimit(0), `Order: lanes, one after the other; rounds: 2
  index Order_Status: Status=1; fetches records
  index Order_Number: Number="02"; fetches records`},
		"intersection": {article(a.Editor.Equal(ptr("ann")), a.Tags.Equal("x")), `Article: an intersection, ordered by id; rounds: 2; reads at most 10000 keys
  index Article_Editor: Editor="ann"; fetches records
  index Article_Tags: Tags="x"`},
		"covered": {article(a.Section.Equal("s"), a.Published.To(day1)), `Article: one range, ordered by Published, id; rounds: 1
  index Article_Section_Published: Section="s", Published<=2026-03-02T09:00:00Z`},
		"slice": {article(a.Tags.From("a"), a.Tags.Before("y")), `Article: one range, ordered by Tags, id; rounds: 2; reads at most 10000 keys
  index Article_Tags: Tags>="a", Tags<"y"; filter: Tags>="a" and Tags<"y"; fetches records`},
		"descending": {sale(s.Status.Equal(1), s.CreatedAt.From(day0), s.CreatedAt.Before(day1)), `Sale: one range, ordered by CreatedAt descending, id; rounds: 2
  index Sale_Status_CreatedAt: Status=1, CreatedAt<2026-03-02T09:00:00Z, CreatedAt>=2026-03-01T09:00:00Z; fetches records`},
		"partial": {sale(s.Status.Equal(1), s.Amount.After(0), s.Editor.After(nil)).FilterLimit(50), `Sale: one range, ordered by Editor descending, id; rounds: 2
  index Sale_Editor_where_Status_Amount: Editor>nil; fetches records`},
		"scattered": {sale(s.Discount.Equal(ptr(int64(5)))), `Sale: one range, ordered by id; rounds: 2
  index Sale_Discount: Discount=5; 4 shards; fetches records`},
	} {
		t.Run(name, func(t *testing.T) {
			e := must[*persistable.Explanation](t)(c.query.Explain(ctx))
			if diff := cmp.Diff(c.want, e.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			counts, err := counter.Measure(func() error { return readAll(c.query) })
			if check(t, err); counts.Rounds != e.Rounds {
				t.Errorf("the query takes %d rounds, explained are %d", counts.Rounds, e.Rounds)
			}
		})
	}
}

func readAll(q explainer) error {
	switch q := q.(type) {
	case *persistable.Query[*Order]:
		return second(q.Slice(ctx))
	case *persistable.Query[*Article]:
		return second(q.Slice(ctx))
	case *persistable.Query[*Sale]:
		return second(q.Slice(ctx))
	}
	panic("a query of another type")
}

// TestExplainEstimates compares the bytes of a range with those of one that holds it.
func TestExplainEstimates(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		q := found[*Order](t)(s.Find(OrderFields.Number.From("0")))
		if e := must[*persistable.Explanation](t)(q.Explain(ctx)); e.Bytes != 0 || len(e.Ranges) != 1 {
			t.Errorf("without a store: %+v", e)
		}
		someOrders(t, s, 300)
		all := must[*persistable.Explanation](t)(q.Explain(ctx))
		some := must[*persistable.Explanation](t)(found[*Order](t)(s.Find(OrderFields.Number.From("2"))).Explain(ctx))
		if all.Bytes < some.Bytes || all.Bytes != all.Ranges[0].Bytes {
			t.Errorf("all: %d bytes, some: %d", all.Bytes, some.Bytes)
		}
	})
}
