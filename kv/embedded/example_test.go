// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "embedded")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	db, err := embedded.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("hello"), []byte("world"))
		return nil
	})
	fmt.Println(err, db.Close())

	if db, err = embedded.Open(dir); err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	value, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get([]byte("hello")).Get(ctx)
	})
	fmt.Println(string(value), err)
	// Output:
	// <nil> <nil>
	// world <nil>
}
