// SPDX-License-Identifier: Apache-2.0

package idbuilder_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// A program serves IDs itself, creates a key over HTTP as an admin, and takes its numbers
// without HTTP.
func Example() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Init(ctx); err != nil {
		log.Fatal(err)
	}
	w, err := idbuilder.NewWorker(s, idbuilder.Options{
		AdminToken:    "the-admins-own-token",
		TokenExpiry:   24 * time.Hour,
		Validity:      2 * time.Second,
		BatchSize:     500,
		LeaseDuration: time.Minute,
		Rate:          1000,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = w.Close(ctx) }()
	server := httptest.NewServer(w)
	defer server.Close()

	c, err := client.New(client.Options{URLs: []string{server.URL}, Token: "the-admins-own-token"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Admin().Save(ctx, "increment", map[string]any{"key": "orders", "base": 1000}); err != nil {
		log.Fatal(err)
	}
	ids, err := w.Increment(ctx, nil, idbuilder.IncrementRequest{Key: "orders", Size: 3})
	fmt.Println(ids, err)
	_, err = w.Formatted(ctx, nil, "orders", 1)
	fmt.Println(w.Explain(err))
	// Output:
	// [1001 1002 1003] <nil>
	// 1001 key: "orders" makes increment IDs; ask /v1/id/increment
}
