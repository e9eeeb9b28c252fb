// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func Example() {
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := s.Init(ctx); err != nil {
		log.Fatal(err)
	}
	r, err := s.Reserve(ctx, "orders", store.Reservation{Start: 1000, Step: 1, Count: 100, Bound: math.MaxInt64})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the numbers from %d to %d are mine\n", r.From+1, r.To)
	// Output: the numbers from 1001 to 1100 are mine
}
