// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// exampleStatuses creates six orders of changing status: 0 pending, 1 paid, 2 shipped.
func exampleStatuses() (*OrderStore, *persistable.DB) {
	orders, db := exampleOrders()
	for i := range 6 {
		o := orders.New(Order{Number: fmt.Sprint("A-", i), Status: OrderStatus(i % 3), CreatedAt: time.Unix(int64(i), 0), Amount: int64(i)})
		if err := orders.Create(context.Background(), o); err != nil {
			fmt.Println(err)
		}
	}
	return orders, db
}

func printOrders(q *persistable.Query[*Order], err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	for o, err := range q.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(o.Number, " ")
	}
	fmt.Println()
}

// The lanes of In are merged: the records come in one order, here by their ids.
func ExampleField_In() {
	orders, db := exampleStatuses()
	defer db.Close()
	printOrders(orders.Find(OrderFields.Status.In(Paid, Shipped)))
	// Output:
	// A-1 A-2 A-4 A-5
}

// A record that fulfils several alternatives comes once.
func ExampleOr() {
	orders, db := exampleStatuses()
	defer db.Close()
	f := OrderFields
	printOrders(orders.Find(persistable.Or(
		f.Number.Equal("A-4"),
		persistable.And(f.Status.Equal(Paid), f.Amount.From(1)),
	)))
	// Output:
	// A-4 A-1
}

func ExampleStore_AllowScan() {
	orders, db := exampleStatuses()
	defer db.Close()
	_, err := orders.Find(OrderFields.Amount.From(4))
	fmt.Println(errors.Is(err, persistable.ErrNoIndex))
	printOrders(orders.AllowScan().Find(OrderFields.Amount.From(4)))
	// Output:
	// true
	// A-4 A-5
}

func ExampleQuery_FilterLimit() {
	ctx := context.Background()
	orders, db := exampleStatuses()
	defer db.Close()
	f := OrderFields
	q, err := orders.Find(f.Status.Equal(Paid), f.Amount.From(4)) // the index has two orders that are paid
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = q.FilterLimit(1).Slice(ctx)
	fmt.Println(err)
	all, err := q.FilterLimit(2).Slice(ctx)
	fmt.Println(len(all), err)
	// Output:
	// persistable: Order: the query has looked at 1 records and leaves some out in memory: add the index _ persistable.Index `persist:"Status,Amount"`, or raise the query's FilterLimit
	// 1 <nil>
}

func ExampleQuery_Explain() {
	orders, db := exampleStatuses()
	defer db.Close()
	f := OrderFields
	q, err := orders.Find(f.Number.In("A-1", "A-4"), f.Amount.From(4))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := q.Explain(context.Background())
	fmt.Println(plan, err)
	// Output:
	// Order: lanes, one after the other; rounds: 2; looks at 10000 records at most; 2 keys
	//   index Order_Number: Number="A-1"; filter: Number="A-1" and Amount>=4; fetches records; 1 key
	//   index Order_Number: Number="A-4"; filter: Number="A-4" and Amount>=4; fetches records; 1 key <nil>
}

// An export stops after some records, stores its token, and goes on in another process.
func ExampleAcross() {
	ctx := context.Background()
	orders, db := exampleStatuses()
	defer db.Close()
	export := func(token string, most int) string {
		scan, numbers := persistable.Across(orders.OrderedByNumber().Query(), token), []string{}
		for o, err := range scan.All(ctx) {
			if err != nil {
				fmt.Println(err)
				break
			}
			if numbers = append(numbers, o.Number); len(numbers) == most {
				break
			}
		}
		fmt.Println(numbers)
		return scan.Token()
	}
	token := export("", 4)
	export(token, 100)
	// Output:
	// [A-0 A-1 A-2 A-3]
	// [A-4 A-5]
}

// The parts of an export run side by side.
func ExampleScan_Split() {
	ctx := context.Background()
	orders, db := exampleStatuses()
	defer db.Close()
	parts, err := persistable.Across(orders.Scan(), "").Split(ctx, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	var group sync.WaitGroup
	counts := make([]int, len(parts))
	for i, part := range parts {
		group.Go(func() { // or a process that is given part.Token()
			for _, err := range part.All(ctx) {
				if err != nil {
					fmt.Println(err)
					return
				}
				counts[i]++
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Println(total, "orders")
	// Output:
	// 6 orders
}

// Counts, sums, extremes and copies of fields, which markers such as
//
//	_ persistable.Count `persist:"by=Status+Country"`
//	_ persistable.Sum   `persist:"Amount,by=Status"`
//	_ persistable.Min   `persist:"Amount,by=Country"`
//	_ persistable.Index `persist:"Country,Amount,cover=Units+Editor"`
//
// ask for. Each answer is one read, or one range, whatever the number of records.
func Example_aggregates() {
	engine, err := embedded.OpenMemory()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	sales := SaleStoreOf(db)
	for i, amount := range []int64{30, 10, 20} {
		sale := &Sale{ID: fmt.Sprint("sale ", i), Status: Paid, Country: "jp", Amount: amount, Units: uint64(i + 1)}
		if err := sales.Create(ctx, sale); err != nil {
			fmt.Println(err)
			return
		}
	}
	n, err := sales.CountByStatusCountry(ctx, Paid, "jp")
	fmt.Println("count:", n, err)
	sum, err := sales.SumAmountByStatus(ctx, Paid)
	fmt.Println("sum:", sum, err)
	least, found, err := sales.MinAmountByCountry(ctx, "jp")
	fmt.Println("least:", least, found, err)
	for group, err := range sales.CountsByStatusCountry(ctx) {
		fmt.Println("group:", group.Group, group.Count, err)
	}
	for row, err := range sales.ByCountryAmountRows("jp").From(15).All(ctx) {
		fmt.Println("row:", row.ID, row.Amount, row.Units, err)
	}
	// Output:
	// count: 3 <nil>
	// sum: 60 <nil>
	// least: 10 true <nil>
	// group: {1 jp} 3 <nil>
	// row: sale 2 20 3 <nil>
	// row: sale 0 30 1 <nil>
}

// A consumer counts changes in its own transaction: each exactly once.
func ExampleFeed_Consumer() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}), notes.Save(ctx, &Note{ID: 2, Text: "b"}), notes.Delete(ctx, 1))
	n, err := notes.Feed().Consumer("counter").Next(ctx, func(tx persistable.Tx, changes []persistable.Change[*Note, int64]) error {
		for _, c := range changes {
			fmt.Println(c.ID, c.Deleted)
			tx.KV().Atomic(kv.Add, []byte("changes"), kv.Int64(1))
		}
		return nil
	})
	fmt.Println(n, err)
	// Output:
	// <nil> <nil> <nil>
	// 2 false
	// 1 true
	// 2 <nil>
}

// Changes yields the last change of each record, in the order of the commits.
func ExampleFeed_Changes() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}), notes.Save(ctx, &Note{ID: 2, Text: "b"}), notes.Save(ctx, &Note{ID: 1, Text: "c"}))
	var seen persistable.Version
	for c, err := range notes.Feed().Changes(ctx, seen) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.ID, c.Record.Text)
		seen = c.Version
	}
	// Output:
	// <nil> <nil> <nil>
	// 2 b
	// 1 c
}

// A version travels through a form, or an HTTP ETag, and back.
func ExampleFeed_SaveIfVersion() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}))
	note, err := notes.Get(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	etag := note.Version.String()
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "of another request"}))

	var version persistable.Version
	if err := version.UnmarshalText([]byte(etag)); err != nil {
		fmt.Println(err)
	}
	err = notes.SaveIfVersion(ctx, version, &Note{ID: 1, Text: "b"})
	fmt.Println(errors.Is(err, persistable.ErrChanged))
	// Output:
	// <nil>
	// <nil>
	// true
}

// A condition on a field without an index filters what the index of another one yields. One that
// is absent says nothing.
func ExampleCondition() {
	orders, db := exampleStatuses()
	defer db.Close()
	var number persistable.Condition[*Order]
	for range 2 {
		o, err := orders.FindOne(context.Background(), OrderFields.Status.Equal(Paid), OrderFields.Amount.From(0), number)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.Number)
		number = persistable.HasPrefix(OrderFields.Number, "A-4")
	}
	// Output:
	// A-1
	// A-4
}

// A list goes forward and back by the tokens of its pages, and can begin at a record.
func ExamplePageAfter() {
	orders, db := exampleStatuses()
	defer db.Close()
	ctx := context.Background()
	list := orders.OrderedByNumber().Limit(2).Query()
	o, err := orders.ByNumber(ctx, "A-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := persistable.PageAfter(ctx, list, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Records[0].Number, page.Records[1].Number)
	page, err = list.Page(ctx, page.Previous)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Records[0].Number, page.Records[1].Number, page.Previous == "")
	total, err := list.Limit(persistable.NoLimit).Count(ctx)
	fmt.Println(total, err)
	// Output:
	// A-2 A-3
	// A-0 A-1 true
	// 6 <nil>
}
