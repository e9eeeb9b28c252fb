// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"

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

func ExampleOpen_options() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := embedded.Open(dir, embedded.Options{Memory: 256 << 20})
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

	db, err = embedded.Open(dir, embedded.Options{ReadOnly: true})
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

// The metrics are a struct: read what you need, or publish them all, for
// instance by expvar under /debug/vars.
func ExampleDatabase_Metrics() {
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	expvar.Publish("kazahana", expvar.Func(func() any { return db.Metrics() }))

	for range 3 {
		err := db.Transact(context.Background(), func(tx kv.Transaction) error {
			tx.Set([]byte("key"), []byte("value"))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	m := db.Metrics()
	fmt.Println(m.Commits, "commits,", m.Conflicts, "conflicts, mean batch", m.BatchSize.Mean())
	// Output: 3 commits, 0 conflicts, mean batch 1
}

// A tracer prints what a transaction reads and writes, and the conflict ranges of
// its commit.
func ExampleTracer() {
	ctx := context.Background()
	db, err := embedded.OpenMemory(embedded.Options{Tracer: &embedded.Tracer{
		Read: func(r embedded.Trace) {
			fmt.Printf("%d/%d %s %s: %d pairs, %d bytes\n", r.Transaction, r.Attempt, r.Method, r.Range.Begin.Key, r.Pairs, r.Bytes)
		},
		Write: func(w embedded.Trace) {
			fmt.Printf("%d/%d %s %s: %d bytes\n", w.Transaction, w.Attempt, w.Method, w.Keys.Begin, w.Bytes)
		},
		Commit: func(c embedded.Trace) {
			fmt.Printf("%d/%d commit: reads %q, writes %q, %v\n", c.Transaction, c.Attempt, c.Reads, c.Writes, c.Err)
		},
	}})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	for range 2 {
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			value, err := tx.Get([]byte("name")).Get(ctx)
			tx.Set([]byte("name"), append(value, 'x'))
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// 1/1 Get name: 0 pairs, 0 bytes
	// 1/1 Set name: 1 bytes
	// 1/1 commit: reads [{"name" "name\x00"}], writes [{"name" "name\x00"}], <nil>
	// 2/1 Get name: 1 pairs, 5 bytes
	// 2/1 Set name: 2 bytes
	// 2/1 commit: reads [{"name" "name\x00"}], writes [{"name" "name\x00"}], <nil>
}
