// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/persistable"
)

// An export stops after some records, stores its token, and goes on in another process.
func ExampleAcross() {
	ctx := context.Background()
	orders, db := exampleStatuses()
	defer db.Close()
	export := func(token string, most int) string {
		scan, numbers := persistable.Across(orders.OrderedByNumber().Query(), token), []string{}
		for o, err := range scan.All(ctx) {
			if err != nil {
				fmt.Println(err)
				break
			}
			if numbers = append(numbers, o.Number); len(numbers) == most {
				break
			}
		}
		fmt.Println(numbers)
		return scan.Token()
	}
	token := export("", 4)
	export(token, 100)
	// Output:
	// [A-0 A-1 A-2 A-3]
	// [A-4 A-5]
}

// The parts of an export run side by side.
func ExampleScan_Split() {
	ctx := context.Background()
	orders, db := exampleStatuses()
	defer db.Close()
	parts, err := persistable.Across(orders.Scan(), "").Split(ctx, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	var group sync.WaitGroup
	counts := make([]int, len(parts))
	for i, part := range parts {
		group.Go(func() { // or a process that is given part.Token()
			for _, err := range part.All(ctx) {
				if err != nil {
					fmt.Println(err)
					return
				}
				counts[i]++
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Println(total, "orders")
	// Output:
	// 6 orders
}
