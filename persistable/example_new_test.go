// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
)

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

	defer func() { fmt.Println(recover()) }()
	orders.New(Order{TenantID: "tenant-2", Number: "A-1003"})
	// Output:
	// true true tenant-1
	// <nil> <nil>
	// <nil> 17
	// persistable: the literal of a new persistable_test.Order has TenantID "tenant-2", but the store's is "tenant-1": leave TenantID out, or use the store of "tenant-2"
}
