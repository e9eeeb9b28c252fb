// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"

	"example.com/tools"
	"github.com/kazahana-db/kazahana/kv"
)

var total int

type collector struct {
	names []string
	count int
}

func appends(ctx context.Context, db kv.Database, r kv.SelectorRange) ([]string, error) {
	var names, reset, entries, seenTries []string
	all := map[string][]string{}
	copies := map[string]string{}
	var c, fresh collector
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		reset = reset[:0]
		fresh = collector{}
		var local []string
		for pair, err := range tx.GetRange(r, kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			names = append(names, string(pair.Key)) // want "appends to the outer variable names: a retry does it again. Reset the variable at the beginning"
			reset = append(reset, string(pair.Key))
			entries = append(entries, string(pair.Key)) // want "appends to the outer variable entries"
			seenTries = append(seenTries, string(pair.Key))
			local = append(local, string(pair.Key))
			c.names = append(c.names, string(pair.Key)) // want "appends to the outer variable c.names"
			fresh.names = append(fresh.names, string(pair.Key))
			fresh.count++
			all["k"] = append(all["k"], string(pair.Key)) // want "appends to the outer variable all"
			copies[string(pair.Key)] = string(pair.Value)
		}
		names = append(local, "end")
		return nil
	})
	return names, err
}

func counts(ctx context.Context, db kv.Database) error {
	sum, anew, attempts := 0, 0, 0
	return db.Transact(ctx, func(tx kv.Transaction) error {
		attempts++
		anew = 0
		anew++
		sum++    // want "counts in the outer variable sum"
		sum += 2 // want "counts in the outer variable sum"
		total++  // want "counts in the outer variable total"
		n := 0
		n++
		return nil
	})
}

func lateReset(ctx context.Context, db kv.Database) (n int) {
	db.Transact(ctx, func(tx kv.Transaction) error {
		n++ // want "counts in the outer variable n"
		n = 0
		if n > 5 {
			n = 1
		}
		return nil
	})
	return n
}

func channels(ctx context.Context, db kv.Database, done chan int) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		own := make(chan int, 1)
		own <- 1
		close(own)
		done <- 1   // want "sends on the channel done: a retry does it again. Do it after the transaction"
		close(done) // want "closes the channel done"
		return nil
	})
}

func goroutines(ctx context.Context, db kv.Database, once *sync.Once) error {
	var group sync.WaitGroup
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		group.Add(1)    // want "calls group.Add of an outer sync.WaitGroup"
		go group.Done() // want "starts a goroutine"
		once.Do(func() { total++ })
		once.Do(func() { tx.Set(nil, nil) }) // want "uses the transaction in an outer sync.Once, which a retry skips"
		return nil
	})
	group.Wait()
	return err
}

func parallel(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		var group sync.WaitGroup
		group.Add(1)
		go group.Done()
		group.Wait()
		return nil
	})
}

func actions(ctx context.Context, db kv.Database, w http.ResponseWriter, f *os.File) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if _, err := http.Get("http://localhost"); err != nil { // want "makes an HTTP request"
			return err
		}
		fmt.Fprintln(w, "done") // want "answers an HTTP request"
		f.WriteString("done")   // want "changes files"
		fmt.Fprintln(os.Stderr, "done")
		notify()                     // want "makes an HTTP request in notify"
		return tools.Store("f", nil) // want "changes files in Store"
	})
}

func notify() { http.Get("http://localhost") }

// helper runs in a transaction, but its arguments may belong to the attempt.
func helper(tx kv.Transaction, c *collector, names *[]string) {
	c.names = append(c.names, "a")
	*names = append(*names, "b")
	c.count++
	http.Get("http://localhost") // want "makes an HTTP request"
	total++                      // want "counts in the outer variable total"
}

func loop(ctx context.Context, tx kv.Transaction) (numbers []int, sum int, err error) {
	err = kv.Retry(ctx, tx, func(a kv.Attempt) error {
		numbers = append(numbers, a.Number) // want "appends to the outer variable numbers"
		if a.Number == 1 {
			sum++
		}
		return nil
	})
	return numbers, sum, err
}

func (c *collector) collect(tx kv.Transaction) error {
	c.count++ // want "counts in the outer variable c.count"
	return nil
}

func (c *collector) run(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, c.collect)
}
