// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// serve starts a service in memory. A real service runs elsewhere.
func serve() (url string, stop func()) {
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	home, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		panic(err)
	}
	if err := home.Init(context.Background()); err != nil {
		panic(err)
	}
	worker, err := idbuilder.NewWorker(home, idbuilder.Options{AdminToken: "the-admins-own-token"})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(worker)
	return server.URL, func() {
		server.Close()
		if err := worker.Close(context.Background()); err != nil {
			panic(err)
		}
		if err := db.Close(); err != nil {
			panic(err)
		}
	}
}

func Example() {
	url, stop := serve()
	defer stop()
	ctx := context.Background()
	ids, err := client.New(client.Options{URLs: []string{url}, Token: "the-admins-own-token"})
	if err != nil {
		panic(err)
	}
	defer ids.Close()
	if err := ids.Admin().Save(ctx, "increment", map[string]any{"key": "orders", "base": 1000, "max": 1016}); err != nil {
		panic(err)
	}

	orders := ids.Increment("orders")
	id, err := orders.Next(ctx)
	fmt.Println(id, err)
	batch := make([]int64, 15)
	n, err := orders.NextN(ctx, batch)
	fmt.Println(n, batch[14], err)
	_, err = orders.Next(ctx)
	fmt.Println(errors.Is(err, client.ErrExhausted))
	// Output:
	// 1001 <nil>
	// 15 1016 <nil>
	// true
}
