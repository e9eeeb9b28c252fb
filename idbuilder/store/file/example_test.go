// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := file.Open(dir, file.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	if err := s.Init(ctx); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		r, err := s.Reserve(ctx, "orders", store.Reservation{Start: 1000, Step: 1, Count: 100, Bound: math.MaxInt64})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("the numbers from %d to %d are mine\n", r.From+1, r.To)
	}
	// Output:
	// the numbers from 1001 to 1100 are mine
	// the numbers from 1101 to 1200 are mine
}

func ExampleFileName() {
	fmt.Println(file.FileName("orders"), file.FileName("Orders/2026"))
	// Output: orders %4Frders%2F2026
}
