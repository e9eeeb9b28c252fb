// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func open() kv.Database {
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// A function given to Transact may run several times: it must have no effect
// outside the transaction, and returns its result instead.
func ExampleTransact() {
	ctx, db := context.Background(), open()
	defer db.Close()
	balance, err := kv.Transact(ctx, db, func(tx kv.Transaction) (uint64, error) {
		old, err := tx.Get([]byte("balance")).Get(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the balance: %w", err)
		}
		next := uint64(10)
		if old != nil {
			next += binary.LittleEndian.Uint64(old)
		}
		tx.Set([]byte("balance"), kv.Int64(int64(next)))
		tx.Atomic(kv.Add, []byte("deposits"), kv.Int64(1)) // no read, no conflict
		return next, nil
	})
	fmt.Println(balance, err)
	// Output: 10 <nil>
}

// Reads that are started together are waited for together.
func ExampleReadTransact() {
	ctx, db := context.Background(), open()
	defer db.Close()
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		for _, fruit := range []string{"apple", "pear", "plum"} {
			tx.Set([]byte("fruit/"+fruit), []byte("ripe"))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fruits, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) (names []string, err error) {
		all := tx.GetRange(kv.PrefixRange([]byte("fruit/")).Selectors(), kv.RangeOptions{Reverse: true})
		apple := tx.Get([]byte("fruit/apple"))
		for pair, err := range all.All(ctx) {
			if err != nil {
				return nil, err
			}
			names = append(names, string(pair.Key))
		}
		state, err := apple.Get(ctx)
		return append(names, string(state)), err
	})
	fmt.Println(fruits, err)
	// Output: [fruit/plum fruit/pear fruit/apple ripe] <nil>
}

// Layers that must know of earlier attempts run the retry loop themselves.
func ExampleRetry() {
	ctx, db := context.Background(), open()
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		log.Fatal(err)
	}
	err = kv.Retry(ctx, tx, func(attempt kv.Attempt) error {
		taken, err := tx.Get([]byte("seat/12A")).Get(ctx)
		if err != nil {
			return err
		}
		if string(taken) == "ann" && attempt.MaybeCommitted {
			return nil // an earlier attempt did commit
		}
		if taken != nil {
			return fmt.Errorf("seat 12A is taken by %s", taken)
		}
		tx.Set([]byte("seat/12A"), []byte("ann"))
		return nil
	})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleConflictsOf() {
	err := error(kv.NewConflictError([]kv.KeyRange{{Begin: []byte("stock/42"), End: []byte("stock/42\x00")}})) // of Commit
	for _, r := range kv.ConflictsOf(err) {
		fmt.Printf("others wrote to keys from %q to %q\n", r.Begin, r.End)
	}
	// Output: others wrote to keys from "stock/42" to "stock/42\x00"
}

// A database with options for all of its transactions: here for a part of a program that writes little.
// With FoundationDB, the tag lets an operator limit that part.
func ExampleWith() {
	ctx, db := context.Background(), open()
	defer db.Close()
	small := kv.With(db, kv.TransactionOptions{Priority: kv.PriorityBatch, Tags: []string{"reports"}, Identifier: "report", SizeLimit: 1000})
	write := func(size int) error {
		return small.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("report"), make([]byte, size))
			return nil
		})
	}
	fmt.Println(write(100))
	err := write(1000)
	fmt.Println(err)
	// Output:
	// <nil>
	// transaction report: kv: transaction exceeds byte limit (2101): the transaction has 1087 bytes; at most 1000 are possible: split it
}

// One fault in the options, and every transaction fails with it. Validate finds it before.
func ExampleTransactionOptions_Validate() {
	fmt.Println(kv.TransactionOptions{Tags: []string{"a tenant's name"}, RetryLimit: 3}.Validate())
	fmt.Println(kv.TransactionOptions{Tags: []string{"a tenant's long name"}, RetryLimit: -1}.Validate())
	// Output:
	// <nil>
	// kv: RetryLimit is -1; use 0 for no limit, or at most 2147483647
	// kv: the tag "a tenant's long name" has 20 bytes; use 1 to 16
}

// The function of a transaction sets options for that transaction alone, before anything else. They
// hold in each attempt.
func ExampleTransaction_SetOptions() {
	ctx, db := context.Background(), open()
	defer db.Close()
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOptions(kv.TransactionOptions{SizeLimit: 100}); err != nil {
			return err
		}
		tx.Set([]byte("key"), make([]byte, 200))
		return nil
	})
	fmt.Println(err)
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		if _, err := tx.Get([]byte("key")).Get(ctx); err != nil {
			return err
		}
		return tx.SetOptions(kv.TransactionOptions{Priority: kv.PriorityBatch})
	})
	fmt.Println(err)
	// Output:
	// kv: transaction exceeds byte limit (2101): the transaction has 278 bytes; at most 100 are possible: split it
	// kv: invalid API call (2000): SetOptions after a read or a write
}
