// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// A tracer prints what a transaction reads and writes, and the conflict ranges of
// its commit.
func ExampleTracer() {
	ctx := context.Background()
	db, err := embedded.OpenMemoryWith(embedded.Options{Tracer: &embedded.Tracer{
		Read: func(r embedded.ReadTrace) {
			fmt.Printf("%d/%d %s %s: %d pairs, %d bytes\n", r.Transaction, r.Attempt, r.Method, r.Range.Begin.Key, r.Pairs, r.Bytes)
		},
		Write: func(w embedded.WriteTrace) {
			fmt.Printf("%d/%d %s %s: %d bytes\n", w.Transaction, w.Attempt, w.Method, w.Keys.Begin, w.Bytes)
		},
		Commit: func(c embedded.CommitTrace) {
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
