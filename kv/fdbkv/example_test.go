// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func ExampleOpen_options() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"), fdbkv.Options{
		AutomaticIdempotency: true, // no commit_unknown_result, where the cluster can
		Transactions:         kv.TransactionOptions{MaxRetryDelay: 200 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	key := []byte("kztest/example")
	value, err := kv.Transact(ctx, db, func(tx kv.Transaction) ([]byte, error) {
		tx.Set(key, []byte("world"))
		value, err := tx.Get(key).Get(ctx) // its own write
		tx.Clear(key)
		return value, err
	})
	fmt.Printf("%s %v\n", value, err)
	// Output: world <nil>
}

// A program that uses the official binding runs a layer of this module in its
// own transaction.
func ExampleWrap() {
	ctx := context.Background()
	layer := func(t kv.Transactor) error { // as all layers are written
		return t.Transact(ctx, func(tx kv.Transaction) error {
			mine, err := tx.Get([]byte("kztest/mine")).Get(ctx)
			fmt.Printf("the layer sees %q\n", mine)
			return err
		})
	}
	fdb.MustAPIVersion(fdbkv.APIVersion)
	db := fdb.MustOpenDatabase(os.Getenv("FDB_CLUSTER_FILE"))
	_, err := db.Transact(func(tr fdb.Transaction) (any, error) {
		tr.Set(fdb.Key("kztest/mine"), []byte("not yet committed"))
		defer tr.Clear(fdb.Key("kztest/mine"))
		return nil, fdbkv.ForBinding(layer(fdbkv.Wrap(tr)))
	})
	fmt.Println(err)
	// Output:
	// the layer sees "not yet committed"
	// <nil>
}
