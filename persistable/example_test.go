// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
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

func ExampleStore_Create() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	o := &Order{TenantID: "tenant-1", Number: "A-1001"}
	fmt.Println(orders.Create(ctx, o), o.ID != 0)
	fmt.Println(errors.Is(orders.Create(ctx, o), persistable.ErrExists))
	var taken *persistable.UniqueError
	fmt.Println(errors.As(orders.Create(ctx, &Order{TenantID: "tenant-1", Number: "A-1001"}), &taken))
	// Output:
	// <nil> true
	// true
	// true
}

// Save writes over whatever is stored, and where nothing is stored.
func ExampleStore_Save() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	o := &Order{ID: 1, TenantID: "tenant-1", Number: "A-1001"}
	fmt.Println(orders.Save(ctx, o))
	o.Amount = 5
	fmt.Println(orders.Save(ctx, o))
	o, err := orders.Get(ctx, 1)
	fmt.Println(o.Amount, err)
	// Output:
	// <nil>
	// <nil>
	// 5 <nil>
}

func ExampleStore_GetMany() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	fmt.Println(orders.CreateWithID(ctx, 1, &Order{TenantID: "tenant-1", Number: "A-1001"}))
	all, err := orders.GetMany(ctx, []idgen.ID{1, 2})
	fmt.Println(all[0].Number, all[1] == nil, err)
	// Output:
	// <nil>
	// A-1001 true <nil>
}

// Deleting what is not there is no error.
func ExampleStore_Delete() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	fmt.Println(orders.CreateWithID(ctx, 1, &Order{TenantID: "tenant-1", Number: "A-1001"}))
	fmt.Println(orders.Delete(ctx, 1), orders.Delete(ctx, 1))
	found, err := orders.Exists(ctx, 1)
	fmt.Println(found, err)
	_, err = orders.Get(ctx, 1)
	fmt.Println(errors.Is(err, persistable.ErrNotFound))
	// Output:
	// <nil>
	// <nil> <nil>
	// false <nil>
	// true
}

// Many change one record at once, and no change is lost.
func ExampleStore_Update() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	fmt.Println(orders.CreateWithID(ctx, 1, &Order{TenantID: "tenant-1", Number: "A-1001"}))
	var clerks sync.WaitGroup
	for range 10 {
		clerks.Go(func() {
			if err := orders.Update(ctx, 1, func(o *Order) error { o.Amount += 5; return nil }); err != nil {
				fmt.Println(err)
			}
		})
	}
	clerks.Wait()
	o, err := orders.Get(ctx, 1)
	fmt.Println(o.Amount, err)
	// Output:
	// <nil>
	// 50 <nil>
}

// A record that others have deleted stays deleted.
func ExampleStore_SaveExisting() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	o := &Order{ID: 1, TenantID: "tenant-1", Number: "A-1001"}
	fmt.Println(orders.Create(ctx, o), orders.Delete(ctx, o.ID))
	err := orders.SaveExisting(ctx, o)
	fmt.Println(errors.Is(err, persistable.ErrNotFound))
	// Output:
	// <nil> <nil>
	// true
}

// Another user changes the record while a form is open.
func ExampleStore_SaveIfUnchanged() {
	ctx := context.Background()
	orders, db := exampleOrders()
	defer db.Close()
	fmt.Println(orders.CreateWithID(ctx, 1, &Order{TenantID: "tenant-1", Number: "A-1001"}))
	shown, err := orders.Get(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(orders.Update(ctx, 1, func(o *Order) error { o.Status = Paid; return nil }))

	filledIn := *shown
	filledIn.Amount = 100
	err = orders.SaveIfUnchanged(ctx, shown, &filledIn)
	fmt.Println(errors.Is(err, persistable.ErrChanged))
	// Output:
	// <nil>
	// <nil>
	// true
}

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
