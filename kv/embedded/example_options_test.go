// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func ExampleOpenMemory() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	n, err := kv.Transact(ctx, db, func(tx kv.Transaction) (int, error) {
		tx.Set([]byte("a"), nil)
		tx.Set([]byte("b"), nil)
		kvs, err := tx.GetRange(kv.SelectorRange{
			Begin: kv.FirstGreaterOrEqual([]byte("a")), End: kv.FirstGreaterOrEqual([]byte("z")),
		}, kv.RangeOptions{}).Slice(ctx)
		return len(kvs), err
	})
	fmt.Println(n, err)
	// Output: 2 <nil>
}

func ExampleOpenWith() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := embedded.OpenWith(dir, embedded.Options{CacheSize: 256 << 20})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	_, err = embedded.Open(dir)
	var locked *embedded.LockedError
	fmt.Println(errors.As(err, &locked), locked.PID == os.Getpid())
	// Output: true true
}

// A database is opened for reading only: nothing in its folder changes.
func ExampleOptions_readOnly() {
	dir, err := os.MkdirTemp("", "embedded")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	set := func(tx kv.Transaction) error {
		tx.Set([]byte("hello"), []byte("world"))
		return nil
	}
	db, err := embedded.Open(dir)
	if err != nil {
		panic(err)
	}
	if err := errors.Join(db.Transact(ctx, set), db.Close()); err != nil {
		panic(err)
	}

	db, err = embedded.OpenWith(dir, embedded.Options{ReadOnly: true})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	value, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get([]byte("hello")).Get(ctx)
	})
	fmt.Printf("%s %v\n", value, err)
	fmt.Println(errors.Is(db.Transact(ctx, set), embedded.ErrReadOnly))
	// Output:
	// world <nil>
	// true
}
