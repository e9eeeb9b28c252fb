// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

func exampleOrders() (*OrderStore, *persistable.DB) {
	db, err := persistable.Open(context.Background(), mustMemory())
	if err != nil {
		panic(err)
	}
	return OrderStoreOf(db, "tenant-1"), db
}

func Example() {
	ctx := context.Background()
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
	orders := OrderStoreOf(db, "tenant-1")
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, number := range []string{"A-1001", "A-1002", "A-1003"} {
		if err := orders.Create(ctx, orders.New(Order{Number: number, Status: Pending, CreatedAt: march.AddDate(0, 0, i), Amount: 1000})); err != nil {
			fmt.Println(err)
		}
	}
	for o, err := range orders.ByStatusCreatedAt(Pending).From(march.AddDate(0, 0, 1)).Reverse().Limit(20).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.Number, o.CreatedAt.Format(time.DateOnly))
	}
	var taken *persistable.UniqueError
	if err := orders.Create(ctx, orders.New(Order{Number: "A-1001", Status: Paid, CreatedAt: march, Amount: 1})); errors.As(err, &taken) {
		fmt.Println("taken:", taken.Index, taken.Values)
	}
	// Output:
	// A-1003 2026-03-03
	// A-1002 2026-03-02
	// taken: Order_Number ("A-1001")
}

func ExampleDB_Transact() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	orders := OrderStoreOf(db, "tenant-1")
	articles := ArticleStoreOf(db)
	o := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: time.Now(), Amount: 5})
	a := NewArticle(Article{Section: "news", Slug: "first-order", Published: time.Now()})
	err = db.Transact(ctx, func(tx persistable.Tx) error { // the ids were made before
		if err := orders.In(tx).Create(ctx, o); err != nil {
			return err
		}
		return articles.In(tx).Create(ctx, a)
	})
	fmt.Println(err)
	found, err := articles.BySectionSlug(ctx, "news", "first-order")
	fmt.Println(found.ID == a.ID, err)
	// Output:
	// <nil>
	// true <nil>
}

func ExampleQuery_Page() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	for i := range 5 {
		_ = orders.Create(ctx, orders.New(Order{Number: fmt.Sprint(i), Status: Paid, CreatedAt: time.Now(), Amount: 1}))
	}
	token := ""
	for {
		page, err := orders.OrderedByNumber().Limit(2).Page(ctx, token)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, o := range page.Records {
			fmt.Println(o.Number)
		}
		fmt.Println("--")
		if token = page.Next; token == "" {
			return
		}
	}
	// Output:
	// 0
	// 1
	// --
	// 2
	// 3
	// --
	// 4
	// --
}

func ExampleStore_FindOne() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	_ = orders.Create(ctx, orders.New(Order{Number: "A-1", Status: Paid, CreatedAt: time.Now(), Amount: 42}))
	o, err := orders.FindOne(ctx, OrderFields.Number.Equal("A-1"))
	fmt.Println(o.Amount, err)
	_, err = orders.FindOne(ctx, OrderFields.CreatedAt.Before(time.Now()))
	fmt.Println(err)
	// Output:
	// 42 <nil>
	// persistable: Order: no index begins with (CreatedAt): it has (Number), (Status), (Status,CreatedAt); add an index tag, such as _ persistable.Index `persist:"CreatedAt"`, and run go generate, or read all records by AllowScan
}

func ExampleDB_RemoveDirectory() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, tenant := range []string{"tenant-1", "tenant-2"} {
		orders := OrderStoreOf(db, tenant)
		_ = orders.Create(ctx, orders.New(Order{Number: "A-1", Status: Paid, CreatedAt: time.Now(), Amount: 1}))
	}
	fmt.Println(db.ListDirectory(ctx, "tenants"))
	fmt.Println(db.RemoveDirectory(ctx, "tenants", "tenant-1"))
	fmt.Println(db.ListDirectory(ctx, "tenants"))
	// Output:
	// [tenant-1 tenant-2] <nil>
	// <nil>
	// [tenant-2] <nil>
}

func mustMemory() *embedded.Database {
	engine, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	return engine
}

// A tool describes a type without a database.
func ExampleSchemaOf() {
	schema := persistable.SchemaOf(&OrderStoreOf(nil, "").Store)
	fmt.Println(schema.Type, "in", schema.Directory)
	for _, f := range schema.Fields {
		fmt.Println(f.Number, f.Name, f.Kind)
	}
	for _, ix := range schema.Indexes {
		fmt.Println(ix.Name, ix.Fields, ix.Unique)
	}
	// Output:
	// Order in tenants/{TenantID}(partition)/orders
	// 1 ID id
	// 2 TenantID string
	// 3 Number string
	// 4 Status int64
	// 5 CreatedAt time
	// 6 Amount int64
	// Order_Number [Number] true
	// Order_Status [Status] false
	// Order_Status_CreatedAt [Status CreatedAt] false
}
