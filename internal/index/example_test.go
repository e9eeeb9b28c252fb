// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
)

func ExampleName() {
	fmt.Println(index.Name("Order", "Status", "CreatedAt"))
	fmt.Println(index.Name("Order_Line", "SKU"))
	// Output:
	// Order_Status_CreatedAt
	// Order__Line_SKU
}

func ExampleBounds() {
	paid := tuple.AppendString(nil, "paid")
	b := index.Bounds{}.Equal(paid).From(tuple.AppendInt(nil, 10)).Before(tuple.AppendInt(nil, 20))
	for _, key := range []tuple.Tuple{{"paid", 9, "id"}, {"paid", 10, "id"}, {"paid", 19, "id"}, {"paid", 20, "id"}, {"open", 15, "id"}} {
		fmt.Println(key, b.Contains(key.MustPack()))
	}
	// Output:
	// ("paid", 9, "id") false
	// ("paid", 10, "id") true
	// ("paid", 19, "id") true
	// ("paid", 20, "id") false
	// ("open", 15, "id") false
}
