// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// openBazaar opens a database with some orders of each of three tenants. Close ends it.
func openBazaar(ctx context.Context) (db *persistable.DB, end func()) {
	engine, err := embedded.OpenMemory()
	noError(err)
	noError(bazaar.Seed(ctx, engine))
	db, err = persistable.Open(ctx, engine)
	noError(err)
	return db, func() {
		noError(db.Close())
		noError(engine.Close())
	}
}

func noError(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

var path = []string{"tenants", "tenant-1", "orders"}

func ExampleStores() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	for at, err := range dynamic.Stores(ctx, db, "tenants", "tenant-1") {
		noError(err)
		fmt.Println(strings.Join(at.Path, "/"), at.Type)
	}
	// Output:
	// tenants/tenant-1/accounts Account
	// tenants/tenant-1/orders Order
}

func ExampleOpen() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	orders, err := dynamic.Open(ctx, db, path, "Order")
	noError(err)
	for _, f := range orders.Schema().Fields[:5] {
		fmt.Println(f.Number, f.Name, f.Kind)
	}
	// Output:
	// 1 ID id
	// 2 TenantID string
	// 3 Number string
	// 4 Status int64
	// 5 Country string
}

func ExampleStore_Where() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	orders, err := dynamic.Open(ctx, db, path, "Order")
	noError(err)
	condition, err := orders.Where(`Status = 1 and Country = 'DE'`)
	noError(err)
	query, err := orders.AllowScan().Find(condition)
	noError(err)
	for r, err := range query.Limit(3).All(ctx) {
		noError(err)
		fmt.Println(r.ID(), r.Type())
	}
	// Output:
	// 72623859790382860 Order
	// 72623859790382863 Order
	// 72623859790382872 Order
}

func ExampleStore_ParseRecord() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	counters, err := dynamic.Open(ctx, db, []string{"counters"}, "Counter")
	noError(err)
	r, err := counters.ParseRecord([]byte(`{"ID": 9, "Name": "views", "Value": 7}`))
	noError(err)
	noError(counters.Save(ctx, r))
	text, err := json.Marshal(r)
	noError(err)
	fmt.Println(string(text))

	_, err = counters.ParseRecord([]byte(`{"ID": 9, "Name": "views", "Value": "seven"}`))
	fmt.Println(err)
	// Output:
	// {"ID":9,"Name":"views","Value":7}
	// dynamic: no record of Counter: line 1, Value: it is the text "seven"; wanted is an integer from 0 to 18446744073709551615
}

func ExampleStore_ByIndex() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	orders, err := dynamic.Open(ctx, db, path, "Order")
	noError(err)
	query, err := orders.ByIndex("Order_Number_unique", "A-1003")
	noError(err)
	r, err := query.First(ctx)
	noError(err)
	fmt.Println(r.ID())
	// Output:
	// 72623859790382858
}

func ExampleStore_Entries() {
	ctx := context.Background()
	db, end := openBazaar(ctx)
	defer end()
	orders, err := dynamic.Open(ctx, db, path, "Order")
	noError(err)
	first, err := orders.Scan().First(ctx)
	noError(err)
	entries, err := orders.Entries(ctx, first.ID())
	noError(err)
	for _, e := range entries[:4] {
		fmt.Println(e.Tuple)
	}
	// Output:
	// ("R", "Order", 72623859790382856)
	// ("I", "Order_Address.City", "Köln", 72623859790382856)
	// ("I", "Order_Country_Amount", "DE", -300, 72623859790382856)
	// ("I", "Order_CreatedAt", 1, 1772355600000000005, 72623859790382856)
}
