// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"fmt"

	v1 "github.com/kazahana-db/kazahana/examples/shop/v1"
	v2 "github.com/kazahana-db/kazahana/examples/shop/v2"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// An older program has written sales. The new one has indexes on them, and builds these
// while both write.
func ExampleIndexes_Build() {
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
	olderSchema := newSaleSchema() // as before the indexes were added
	olderSchema.Indexes, olderSchema.Entries, olderSchema.Covers = nil, nil, nil
	for i := range 100 {
		if err := saleStoreOf(db, &olderSchema).Create(ctx, saleOf(i)); err != nil {
			fmt.Println(err)
			return
		}
	}
	sales := SaleStoreOf(db)
	_, err = sales.CountAll(ctx)
	fmt.Println(err)
	var last persistable.BuildProgress
	err = sales.Indexes().Build(ctx, persistable.BuildOptions{
		Workers:        2,
		BytesPerSecond: 20 << 20,
		Progress:       func(p persistable.BuildProgress) { last = p },
	})
	fmt.Println(last.Records, "records in", len(last.Indexes), "indexes:", err)
	n, err := sales.CountAll(ctx)
	fmt.Println(n, err)
	// Output:
	// persistable: Sale: the index Sale_count is disabled in this store: run Indexes().Build and query again
	// 100 records in 14 indexes: <nil>
	// 100 <nil>
}

// An older program has written orders of two shops. The new one has another index, and builds it in
// every shop, of which it needs no list.
func ExampleMigrate() {
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
	for _, shop := range []string{"north", "south"} {
		orders := v1.OrderStoreOf(db, shop)
		if err := orders.Create(ctx, orders.New(v1.Order{Number: "A-1"})); err != nil {
			fmt.Println(err)
			return
		}
	}
	m, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{}, v2.OrderStoreOf(nil, ""))
	for _, s := range m.Changed {
		fmt.Println(s, "has now", s.Indexes)
	}
	fmt.Println(err)
	// Output:
	// the store of Order in the directory "shops"/"north"/"orders" has now [Order_Currency_Total]
	// the store of Order in the directory "shops"/"south"/"orders" has now [Order_Currency_Total]
	// <nil>
}

// Another tool has changed a count in the database. Verify corrects it while others write.
func ExampleIndexes_Verify_repair() {
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
	sales := SaleStoreOf(db)
	for i := range 10 {
		if err := sales.Create(ctx, saleOf(i)); err != nil {
			fmt.Println(err)
			return
		}
	}
	report, err := sales.Indexes().Verify(ctx, persistable.VerifyOptions{})
	fmt.Println(len(report.Faults), "faults", err)
	if err := addToCount(ctx, engine, 7); err != nil {
		fmt.Println(err)
		return
	}
	n, err := sales.CountAll(ctx)
	fmt.Println(n, err)
	report, err = sales.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true})
	for _, f := range report.Faults {
		fmt.Println(f.Index+":", f.Reason)
	}
	fmt.Println(report.Repaired, "repaired", err)
	n, err = sales.CountAll(ctx)
	fmt.Println(n, err)
	// Output:
	// 0 faults <nil>
	// 17 <nil>
	// Sale_count: it says 17, the records make 10
	// 1 repaired <nil>
	// 10 <nil>
}

// addToCount adds to the number of all sales behind the back of all programs.
func addToCount(ctx context.Context, engine kv.Database, n byte) error {
	end := tuple.Tuple{"I", "Sale_count"}.MustPack()
	return engine.Transact(ctx, func(tx kv.Transaction) error {
		for pair, err := range tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			if bytes.HasSuffix(pair.Key, end) {
				tx.Atomic(kv.Add, pair.Key, index.AppendCount(nil, int64(n)))
			}
		}
		return nil
	})
}

// A constructor takes a literal of the struct and gives it an id. The New of a
// store fills the fields of its directory as well.
func Example_new() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory()) // before the first constructor
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	orders := OrderStoreOf(db, "tenant-1")
	a := NewOrder(Order{TenantID: "tenant-1", Number: "A-1001", Amount: 1000})
	b := orders.New(Order{Number: "A-1002", Amount: 2000})
	fmt.Println(a.ID != 0, a.ID < b.ID, b.TenantID)
	fmt.Println(orders.Create(ctx, a), orders.Create(ctx, b))

	imported := &Order{TenantID: "tenant-1", Number: "A-0001"} // its id is known: no constructor
	fmt.Println(orders.CreateWithID(ctx, 17, imported), imported.ID)

	_, err = orders.TryNew(Order{TenantID: "tenant-2", Number: "A-1003"}) // from outside; New panics
	fmt.Println(err)
	// Output:
	// true true tenant-1
	// <nil> <nil>
	// <nil> 17
	// persistable: Order.TenantID: directory "tenants"/"tenant-1"/"orders": the literal of a new persistable_test.Order has TenantID "tenant-2", but the store's is "tenant-1": leave TenantID out, or use the store of "tenant-2"
}
