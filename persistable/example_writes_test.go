// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
)

// The record with a unique value is created once, however many ask for it.
func ExampleStore_GetOrCreate() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	for _, amount := range []int64{10, 20} {
		o, created, err := orders.GetOrCreate(ctx, &Order{TenantID: "tenant-1", Number: "A-1001", Amount: amount})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.Number, o.Amount, created)
	}
	// Output:
	// A-1001 10 true
	// A-1001 10 false
}

// Many records are written in as many transactions as they need, and deleted by a query.
func ExampleStore_CreateMany() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	var all []*Order
	for i := range 250 {
		all = append(all, orders.New(Order{Number: fmt.Sprintf("A-%d", 1000+i), Status: OrderStatus(i % 2)}))
	}
	err := orders.CreateMany(ctx, all, persistable.BatchOptions{Progress: func(p persistable.BatchProgress) {
		fmt.Println(p.Done, "records in", p.Transactions, "transactions")
	}})
	fmt.Println(err)
	n, err := orders.DeleteWhere(ctx, orders.ByStatus(Paid), persistable.BatchOptions{})
	fmt.Println(n, err)
	// Output:
	// 100 records in 1 transactions
	// 250 records in 2 transactions
	// <nil>
	// 125 <nil>
}

// A list stops at a record that cannot be written: the error says where.
func ExamplePartialError() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	err := orders.CreateMany(ctx, []*Order{
		orders.New(Order{Number: "A-1"}), orders.New(Order{Number: "A-2"}), orders.New(Order{Number: "A-1"}),
	}, persistable.BatchOptions{})
	var partial *persistable.PartialError
	var taken *persistable.UniqueError
	fmt.Println(errors.As(err, &partial), errors.As(err, &taken))
	fmt.Println(partial.Done, taken.Values)
	// Output:
	// true true
	// 2 ("A-1")
}

// Watch yields the record as it is, then each later state.
func ExampleStore_Watch() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	o := orders.New(Order{Number: "A-1", Status: Pending})
	if err := orders.Create(ctx, o); err != nil {
		fmt.Println(err)
		return
	}
	for seen, err := range orders.Watch(ctx, o.ID) {
		if err != nil || seen == nil || seen.Status == Shipped {
			fmt.Println("the end:", err, seen == nil)
			return
		}
		fmt.Println("status", seen.Status)
		err = orders.Update(ctx, o.ID, func(o *Order) error { o.Status++; return nil })
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// status 0
	// status 1
	// the end: <nil> false
}
