// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
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
