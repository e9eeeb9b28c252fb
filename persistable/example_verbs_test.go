// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
)

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
	all, err := orders.GetMany(ctx, 1, 2)
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
