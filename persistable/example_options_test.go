// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// A job runs at batch priority and under a tag of its own, so that requests come first on a loaded cluster.
// Its transactions are smaller than FoundationDB's limit: a larger one fails.
func ExampleDB_With() {
	ctx := context.Background()
	_, db := exampleOrders()
	defer db.Close()
	job := db.With(kv.TransactionOptions{Priority: kv.PriorityBatch, Tags: []string{"import"}, SizeLimit: 10_000})
	orders := OrderStoreOf(job, "tenant-1")
	imported := make([]*Order, 100)
	for i := range imported {
		imported[i] = orders.New(Order{Number: fmt.Sprint("A-", i), Status: Pending, CreatedAt: time.Now(), Amount: 5})
	}
	fmt.Println(job.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Create(ctx, imported[0]) }))
	err := job.Transact(ctx, func(tx persistable.Tx) error {
		for _, o := range imported[1:] {
			if err := orders.In(tx).Create(ctx, o); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(kv.CodeOf(err) == kv.CodeTransactionTooLarge)
	// Output:
	// <nil>
	// true
}

// A store with options of its own shares transactions with other stores. Options with a fault fail
// each operation before it reaches the database.
func Example_storeWith() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	o := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: time.Now(), Amount: 5})
	bounded := orders.With(kv.TransactionOptions{Timeout: 2 * time.Second, Tags: []string{"checkout"}})
	fmt.Println(bounded.Create(ctx, o))
	_, err := orders.With(kv.TransactionOptions{Tags: []string{"the checkout of the shop"}}).Get(ctx, o.ID)
	fmt.Println(err)
	// Output:
	// <nil>
	// kv: the tag "the checkout of the shop" has 24 bytes; use 1 to 16
}

// Each tenant has a tag, made of its directory. With FoundationDB an operator limits the load of
// one with fdbcli: quota set tenant-1 total_throughput 1000000.
func ExampleOptions_tagOf() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory(), persistable.Options{TagOf: func(path []string) string {
		if path[0] != "tenants" {
			return "" // the articles are no tenant's
		}
		return path[1]
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, tenant := range []string{"tenant-1", "a tenant with a long name"} {
		_, err := OrderStoreOf(db, tenant).Scan().Count(ctx)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// persistable: Order: directory "tenants"/"a tenant with a long name"/"orders": Options.TagOf: kv: the tag "a tenant with a long name" has 25 bytes; use 1 to 16
}
