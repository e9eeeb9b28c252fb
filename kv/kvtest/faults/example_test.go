// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"log"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func openExample() kv.Database {
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// A program that survives the hostile wrapper survives a cluster's bad days.
func ExampleHostile() {
	ctx := context.Background()
	db := faults.Hostile(openExample(), faults.Options{Seed: 1})
	defer db.Close()
	attempts := 0
	visits, err := kv.Transact(ctx, db, func(tx kv.Transaction) (int, error) {
		attempts++
		text, err := tx.Get([]byte("visits")).Get(ctx)
		if err != nil {
			return 0, err
		}
		n, _ := strconv.Atoi(string(text))
		tx.Set([]byte("visits"), strconv.AppendInt(nil, int64(n+1), 10))
		return n + 1, nil
	})
	fmt.Println(visits > 0, err, attempts > 1)
	// Output: true <nil> true
}

func ExampleNewCounter() {
	ctx := context.Background()
	counter := faults.NewCounter(openExample())
	defer counter.Close()
	cost, err := counter.Measure(func() error {
		return counter.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
			a, b := tx.Get([]byte("a")), tx.Get([]byte("b")) // started together: one round
			if _, err := a.Get(ctx); err != nil {
				return err
			}
			_, err := b.Get(ctx)
			return err
		})
	})
	fmt.Println(cost, err)
	// Output: 1 rounds (2 gets, 0 ranges in 0 batches, 0 free), 0 writes, 0 commits, 0 retries <nil>
}
