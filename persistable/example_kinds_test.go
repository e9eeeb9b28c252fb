// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/kazahana-db/kazahana/persistable"
)

// exampleSales returns a store in memory with three sales.
func exampleSales() (*SaleStore, *persistable.DB) {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		log.Fatal(err)
	}
	sales := SaleStoreOf(db)
	for i, country := range []string{"JP", "JP", "NZ"} {
		v := &Sale{ID: fmt.Sprint("sale-", i), Status: Paid, Country: country, Amount: int64(100 * (i + 1)), Units: uint64(i)}
		if err := sales.Create(ctx, v); err != nil {
			log.Fatal(err)
		}
	}
	return sales, db
}

// A count is one read, however many records there are.
func ExampleGroupCount() {
	ctx := context.Background()
	sales, db := exampleSales()
	defer db.Close()
	n, err := sales.CountByStatusCountry(ctx, Paid, "JP")
	fmt.Println(n, err)
	for group, err := range sales.CountsByStatusCountry(ctx) {
		fmt.Println(group.Group.Country, group.Count, err)
	}
	// Output:
	// 2 <nil>
	// JP 2 <nil>
	// NZ 1 <nil>
}

// A sum that does not fit is an error that has the whole sum.
func ExampleOverflowError() {
	ctx := context.Background()
	sales, db := exampleSales()
	defer db.Close()
	fmt.Println(sales.SumAmountByStatus(ctx, Paid))
	if err := sales.Create(ctx, &Sale{ID: "large", Status: Paid, Amount: math.MaxInt64}); err != nil {
		log.Fatal(err)
	}
	_, err := sales.SumAmountByStatus(ctx, Paid)
	var overflow *persistable.OverflowError
	if errors.As(err, &overflow) {
		fmt.Println(overflow.Field, overflow.Sum)
	}
	// Output:
	// 600 <nil>
	// Amount 9223372036854776407
}

// Rows have the fields of an index's key and those that its entries copy. No record is
// read.
func ExampleRowRange() {
	ctx := context.Background()
	sales, db := exampleSales()
	defer db.Close()
	for row, err := range sales.ByCountryAmountRows("JP").From(100).Reverse().All(ctx) {
		fmt.Println(row.ID, row.Amount, row.Units, err)
	}
	// Output:
	// sale-1 200 1 <nil>
	// sale-0 100 0 <nil>
}
