// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	var missing *persistable.NoIndexError
	fmt.Println(errors.As(err, &missing), missing.Tag)
	printOrders(orders.AllowScan().Find(OrderFields.Amount.From(4)))
	// Output:
	// true _ persistable.Index `persist:"Amount"`
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
