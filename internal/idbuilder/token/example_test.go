// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func Example() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	s, err := kvstore.New(db, kvstore.Options{}) // any store.Store
	if err == nil {
		err = s.Init(ctx)
	}
	if err != nil {
		panic(err)
	}
	watch, err := revision.New(s, revision.Options{Validity: 300 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	defer watch.Close()

	a, err := token.New(s, watch, token.Options{})
	if err != nil {
		panic(err)
	}
	admin, err := a.MakeAdmin(ctx) // the only time that it is shown
	fmt.Println(len(admin), err)
	orders, err := a.Key(ctx, admin, "orders")
	fmt.Println(len(orders.Text), err)
	who, err := a.Check(ctx, orders.Text)
	fmt.Println(who.Key, who.Admin, err)
	_, err = a.Reset(ctx, admin, "orders")
	fmt.Println(err)
	_, err = a.Check(ctx, orders.Text)
	fmt.Println(errors.Is(err, token.ErrInvalid))
	// Output:
	// 54 <nil>
	// 64 <nil>
	// orders false <nil>
	// <nil>
	// true
}
