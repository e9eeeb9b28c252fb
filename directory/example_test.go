// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
)

func Example() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	dir, err := directory.Root().CreateOrOpen(ctx, db, []string{"app", "users"})
	if err != nil {
		log.Fatal(err)
	}
	users, err := dir.Subspace()
	if err != nil {
		log.Fatal(err)
	}
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		key, err := users.Pack(tuple.Tuple{42})
		if err != nil {
			return err
		}
		tx.Set(key, []byte("Ada"))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	names, err := directory.Root().List(ctx, db, []string{"app"})
	fmt.Println(names, err)
	// Output: [users] <nil>
}

func ExampleElementAs() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	root, tenant := directory.Root(), directory.ElementAs(1, directory.Partition)
	orders, err := root.CreateOrOpen(ctx, db, []string{"tenants", "tenant-1", "orders"}, tenant)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders.Path(), orders.IsPartition())

	partition, err := root.Open(ctx, db, []string{"tenants", "tenant-1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(partition.Path(), partition.IsPartition())
	_, err = partition.Subspace()
	fmt.Println(errors.Is(err, directory.ErrPartition))

	fmt.Println(root.Remove(ctx, db, []string{"tenants", "tenant-1"})) // one range clear
	// Output:
	// [tenants tenant-1 orders] false
	// [tenants tenant-1] true
	// true
	// <nil>
}

func ExampleLayer_Move() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// Given a transaction, verbs become a part of it: all or none.
	root := directory.Root()
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		if _, err := root.CreateOrOpen(ctx, tx, []string{"old"}); err != nil {
			return err
		}
		moved, err := root.Move(ctx, tx, []string{"old"}, []string{"new"})
		if err != nil {
			return err
		}
		fmt.Println(moved.Path())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(root.Exists(ctx, db, []string{"old"}))
	// Output:
	// [new]
	// false <nil>
}

func ExampleCache() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	cache, err := directory.NewCache(directory.Root(), db, directory.CacheOptions{})
	if err != nil {
		log.Fatal(err)
	}
	count := func(tx kv.Transaction) error {
		dir, err := cache.CreateOrOpen(ctx, tx, []string{"counters"}) // no reads from the third time on
		if err != nil {
			return err
		}
		counters, err := dir.Subspace()
		if err != nil {
			return err
		}
		tx.Atomic(kv.Add, counters.Sub("visits").Bytes(), kv.Int64(1))
		return nil
	}
	for range 3 {
		if err := db.Transact(ctx, count); err != nil {
			log.Fatal(err)
		}
	}

	// Another program, with a cache or without.
	if err := directory.Root().Remove(ctx, db, []string{"counters"}); err != nil {
		log.Fatal(err)
	}
	_, err = kv.Transact(ctx, db, func(tx kv.Transaction) (*directory.Directory, error) {
		return cache.Open(ctx, tx, []string{"counters"})
	})
	fmt.Println(errors.Is(err, directory.ErrNotFound))
	// Output: true
}
