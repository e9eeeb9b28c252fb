// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// Counts, sums, extremes and copies of fields, which markers such as
//
//	_ persistable.Count `persist:"by=Status+Country"`
//	_ persistable.Sum   `persist:"Amount,by=Status"`
//	_ persistable.Min   `persist:"Amount,by=Country"`
//	_ persistable.Index `persist:"Country,Amount,cover=Units+Editor"`
//
// ask for. Each answer is one read, or one range, whatever the number of records.
func Example_aggregates() {
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
	for i, amount := range []int64{30, 10, 20} {
		sale := &Sale{ID: fmt.Sprint("sale ", i), Status: Paid, Country: "jp", Amount: amount, Units: uint64(i + 1)}
		if err := sales.Create(ctx, sale); err != nil {
			fmt.Println(err)
			return
		}
	}
	n, err := sales.CountByStatusCountry(ctx, Paid, "jp")
	fmt.Println("count:", n, err)
	sum, err := sales.SumAmountByStatus(ctx, Paid)
	fmt.Println("sum:", sum, err)
	least, found, err := sales.MinAmountByCountry(ctx, "jp")
	fmt.Println("least:", least, found, err)
	for group, err := range sales.CountsByStatusCountry(ctx) {
		fmt.Println("group:", group.Group, group.Count, err)
	}
	for row, err := range sales.ByCountryAmountRows("jp").From(15).All(ctx) {
		fmt.Println("row:", row.ID, row.Amount, row.Units, err)
	}
	// Output:
	// count: 3 <nil>
	// sum: 60 <nil>
	// least: 10 true <nil>
	// group: {1 jp} 3 <nil>
	// row: sale 2 20 3 <nil>
	// row: sale 0 30 1 <nil>
}
