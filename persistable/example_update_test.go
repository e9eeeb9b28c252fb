// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/persistable"
)

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
