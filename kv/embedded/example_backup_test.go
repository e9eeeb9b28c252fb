// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// A backup is made while the database is in use, and restored to another folder.
func ExampleDatabase_Backup() {
	dir, err := os.MkdirTemp("", "kazahana")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := embedded.Open(filepath.Join(dir, "data"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	set := func(value string) error {
		return db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("hello"), []byte(value))
			return nil
		})
	}

	if err := set("before"); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Backup(ctx, filepath.Join(dir, "backup")); err != nil {
		log.Fatal(err)
	}
	if err := set("after"); err != nil {
		log.Fatal(err)
	}

	if _, err := embedded.Restore(ctx, filepath.Join(dir, "backup"), filepath.Join(dir, "restored"), embedded.Options{}); err != nil {
		log.Fatal(err)
	}
	restored, err := embedded.Open(filepath.Join(dir, "restored"))
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	err = restored.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		value, err := tx.Get([]byte("hello")).Get(ctx)
		fmt.Printf("%s\n", value)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: before
}
