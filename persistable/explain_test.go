// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
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
	check(t, sales.Save(ctx, &Sale{ID: "1", Status: 1, Amount: 3, CreatedAt: day0, Editor: ptr("e"), Discount: ptr(int64(5)), Code: ptr("12")}))
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
		"filter": {order(o.Status.Equal(Paid), o.Amount.After(20)), `Order: one range, ordered by id; rounds: 2; looks at 10000 records at most
  index Order_Status: Status=1; filter: Status=1 and Amount>20; fetches records`},
		"scan": {order(o.Amount.After(20)), `Order: one range, ordered by id; rounds: 1; looks at 10000 records at most
  records; filter: Amount>20`},
		"all records": {orders.Scan(), `Order: one range, ordered by id; rounds: 1
  records`},
		"merged": {order(o.Status.In(Paid, Shipped)), `Order: lanes, merged, ordered by id; rounds: 2
  index Order_Status: Status=1; fetches records
  index Order_Status: Status=2; fetches records`},
		"one by one": {order(persistable.Or(o.Status.Equal(Paid), o.Number.Equal("02"))).FilterLimit(persistable.NoLimit), `Order: lanes, one after the other; rounds: 2
  index Order_Status: Status=1; fetches records
  index Order_Number: Number="02"; fetches records`},
		"intersection": {article(a.Editor.Equal(ptr("ann")), a.Tags.Equal("x")), `Article: an intersection, ordered by id; rounds: 2; looks at 10000 records at most
  index Article_Editor: Editor="ann"; fetches records
  index Article_Tags: Tags="x"`},
		"covered": {article(a.Section.Equal("s"), a.Published.To(day1)), `Article: one range, ordered by Published, id; rounds: 1
  index Article_Section_Published: Section="s", Published<=2026-03-02T09:00:00Z`},
		"slice": {article(a.Tags.From("a"), a.Tags.Before("y")), `Article: one range, ordered by Tags, id; rounds: 2; looks at 10000 records at most
  index Article_Tags: Tags>="a", Tags<"y"; filter: Tags>="a" and Tags<"y"; fetches records`},
		"descending": {sale(s.Status.Equal(1), s.CreatedAt.From(day0), s.CreatedAt.Before(day1)), `Sale: one range, ordered by CreatedAt descending, id; rounds: 2
  index Sale_Status_CreatedAt: Status=1, CreatedAt<2026-03-02T09:00:00Z, CreatedAt>=2026-03-01T09:00:00Z; fetches records`},
		"partial": {sale(s.Status.Equal(1), s.Amount.After(0), s.Editor.After(nil)).FilterLimit(50), `Sale: one range, ordered by Editor descending, id; rounds: 2
  index Sale_Editor_where_Status_Amount: Editor>nil; fetches records`},
		"prefix": {order(persistable.HasPrefix(o.Number, "1")), `Order: one range, ordered by Number; rounds: 2
  index Order_Number: Number prefix "1"; fetches records`},
		"narrowed prefix": {order(persistable.HasPrefix(o.Number, "1"), o.Number.From("12")), `Order: one range, ordered by Number; rounds: 2
  index Order_Number: Number>="12", Number<"2"; fetches records`},
		"descending prefix": {sale(persistable.HasPrefix(s.Code, "1")), `Sale: one range, ordered by Code descending; rounds: 2
  index Sale_Code: Code prefix "1"; fetches records`},
		"filter of a prefix": {order(o.Status.Equal(Paid), persistable.HasPrefix(o.TenantID, "t\x00")), `Order: one range, ordered by id; rounds: 2; looks at 10000 records at most
  index Order_Status: Status=1; filter: Status=1 and TenantID prefix "t\x00"; fetches records`},
		"no condition": {order(), `Order: one range, ordered by id; rounds: 1
  records`},
		"counted": {found[*Sale](t)(sales.AllowScan().Find(s.Status.Equal(1), s.Country.In("at", "de"))), `Sale: lanes, merged, ordered by CreatedAt descending, id; rounds: 2; looks at 10000 records at most; Count reads the index Sale_count_Status_Country
  index Sale_Status_CreatedAt: Status=1; filter: Status=1 and Country="at"; fetches records
  index Sale_Status_CreatedAt: Status=1; filter: Status=1 and Country="de"; fetches records`},
		"scattered": {sale(s.Discount.Equal(ptr(int64(5)))), `Sale: one range, ordered by id; rounds: 2
  index Sale_Discount: Discount=5; 4 shards; fetches records`},
	} {
		t.Run(name, func(t *testing.T) {
			e := must[*persistable.Explanation](t)(c.query.Explain(ctx))
			if diff := cmp.Diff(c.want, e.Plan()); diff != "" {
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

// rawKeys returns how many keys of the database begin with what prefix says of them, and
// their bytes with those of their values.
func rawKeys(t *testing.T, db *persistable.DB, has func(key []byte) bool) (n, size int64) {
	t.Helper()
	for key, value := range dump(t, db) {
		if has([]byte(key)) {
			n, size = n+1, size+int64(len(key)+len(value))
		}
	}
	return n, size
}

// TestExplainEstimates compares the keys and bytes of ranges with those that are there:
// small ranges are counted, of each form and in both directions, with the chunks of
// records, in all shards. A transaction that explains sees what it has written, and
// conflicts with nothing.
func TestExplainEstimates(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders, articles, sales := OrderStoreOf(db, "t"), ArticleStoreOf(db), SaleStoreOf(db)
		if e := must[*persistable.Explanation](t)(orders.Scan().Explain(ctx)); e.Bytes != 0 || e.Keys != 0 || !e.Exact || len(e.Ranges) != 1 || !e.Ranges[0].Exact {
			t.Errorf("without a store: %+v", e)
		}
		someOrders(t, orders, 12)
		check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", Published: day0, Tags: []string{"x", "y"}, Body: make([]byte, 250_000)})))
		for i := range 9 {
			check(t, sales.Save(ctx, &Sale{ID: fmt.Sprint(i), Country: "at", Amount: int64(i), Discount: ptr(int64(i % 2)), CreatedAt: day0}))
		}
		s := SaleFields
		for name, c := range map[string]struct {
			query explainer
			keys  []int64 // of each range
		}{
			"an index":       {orders.OrderedByNumber(), []int64{12}},
			"in reverse":     {orders.OrderedByNumber().From("02").Before("05").Reverse(), []int64{3}},
			"with a limit":   {orders.ByStatus(Paid).Limit(1), []int64{4}},
			"lanes":          {found[*Order](t)(orders.Find(OrderFields.Status.In(Paid, Shipped))), []int64{4, 4}},
			"nothing":        {orders.OrderedByNumber().From("x"), []int64{0}},
			"by id":          {orders.Scan(), []int64{12}},
			"several chunks": {articles.Scan(), []int64{3}},
			"a slice":        {articles.OrderedByTags(), []int64{2}},
			"shards":         {found[*Sale](t)(sales.Find(s.Discount.Equal(ptr(int64(1))))), []int64{4}},
			"rows":           {sales.ByCountryAmountRows("at").From(3), []int64{6}},
			"all rows":       {sales.ByCountryAmountRows("at").Query(), []int64{9}},
		} {
			e := must[*persistable.Explanation](t)(c.query.Explain(ctx))
			var keys []int64
			var sum, bytes int64
			for _, r := range e.Ranges {
				keys, sum, bytes = append(keys, r.Keys), sum+r.Keys, bytes+r.Bytes
			}
			if !slices.Equal(keys, c.keys) || e.Keys != sum || e.Bytes != bytes || (bytes == 0) != (sum == 0) {
				t.Errorf("%s: the ranges have %v keys, want %v: %+v", name, keys, c.keys, e)
			}
		}
		_, bytes := rawKeys(t, db, func(key []byte) bool { return strings.Contains(string(key), "Order_Number_unique") })
		if e := must[*persistable.Explanation](t)(orders.OrderedByNumber().Explain(ctx)); e.Bytes != bytes || !e.Exact {
			t.Errorf("explained are %d bytes, there are %d: %+v", e.Bytes, bytes, e)
		}
	})
}

// TestExplainEstimatesLargeRanges compares the estimate of ranges that are not counted with
// what is there. The pairs are so large that the engine's sample has each of them.
func TestExplainEstimatesLargeRanges(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	s := ArticleStoreOf(db)
	const n = 40
	for i := range n {
		check(t, s.CreateWithID(ctx, fmt.Sprintf("%02d", i), &Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, 40_000)}))
	}
	keys, bytes := rawKeys(t, db, func(key []byte) bool { return strings.Contains(string(key), "\x02R\x00") })
	if keys != n {
		t.Fatalf("there are %d keys of records", keys)
	}
	for from, want := range map[string]int64{"": n, "10": n - 10, "38": 2} {
		q := persistable.ScanRange(&s.Store).From(from)
		var e *persistable.Explanation
		counts, err := counter.Measure(func() (err error) {
			e, err = q.Explain(ctx)
			return err
		})
		check(t, err)
		if e.Keys != want || e.Exact || e.Ranges[0].Exact || abs(e.Bytes-bytes*want/n) > bytes/1000 {
			t.Errorf("from %q: %+v, want %d keys of %d bytes in all", from, e, want, bytes)
		}
		if text := e.String(); !strings.Contains(text, fmt.Sprintf("about %d keys\n", want)) || strings.Contains(e.Plan(), "keys") {
			t.Errorf("from %q: %s", from, text)
		}
		if counts.Rounds != 1 || counts.Ranges != 1 {
			t.Errorf("explaining cost %v", counts)
		}
	}
}

// TestExplainWithoutEstimates explains a range of which the engine says that it is empty: the
// keys that were read are there.
func TestExplainWithoutEstimates(t *testing.T) {
	s := ArticleStoreOf(open(t, randomSplits{enginetest.Open(t), seed.Rand(t)}))
	for i := range 3 {
		check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, 5000)})))
	}
	e := must[*persistable.Explanation](t)(s.Scan().Explain(ctx))
	if e.Exact || e.Keys == 0 || e.Keys > 3 || e.Bytes < 5000*e.Keys {
		t.Errorf("explained is %+v", e)
	}
}

// TestExplainInATransaction explains a query in a transaction: its own writes are counted,
// and a change of another one in the range does not conflict.
func TestExplainInATransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	all := someOrders(t, s, 3)
	attempts := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		attempts++
		bound := s.In(tx)
		if err := bound.Delete(ctx, all[0].ID); err != nil {
			return err
		}
		e, err := bound.OrderedByStatus().Query().Explain(ctx)
		if err == nil && e.Keys != 2 {
			t.Errorf("explained are %d keys", e.Keys)
		}
		if attempts == 1 {
			check(t, s.Create(persistable.OwnTransaction(ctx), s.New(Order{Number: "new", Status: Paid})))
		}
		return err
	}))
	if attempts != 1 {
		t.Errorf("the transaction ran %d times", attempts)
	}
}

func abs(n int64) int64 { return max(n, -n) }
