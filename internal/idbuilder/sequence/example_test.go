// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

func Example() {
	ctx := context.Background()
	var s store.Store = newFakeStore() // file.Open, postgres.Open, …
	pool, err := sequence.New(s, sequence.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := pool.Sequence("orders", sequence.Spec{Start: 1000, Step: 1, Bound: 1010})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(orders.Take(ctx, nil, sequence.Request{Count: 3}))
	fmt.Println(orders.Take(ctx, nil, sequence.Request{Count: 2, Delta: 3}))
	_, err = orders.Take(ctx, nil, sequence.Request{Count: 2})
	fmt.Println(errors.Is(err, store.ErrExhausted), err)
	fmt.Println(orders.Take(ctx, nil, sequence.Request{Count: 1}))
	fmt.Println(pool.Close(ctx))
	// Output:
	// [1001 1002 1003] <nil>
	// [1006 1009] <nil>
	// true sequence "orders": the request does not fit before the bound 1010; the last number may be at most 1 further: store: the sequence is exhausted
	// [1010] <nil>
	// <nil>
}
