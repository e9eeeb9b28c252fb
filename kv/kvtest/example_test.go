// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
)

func exampleCounter() (*Counter, context.Context) {
	return Count(newNaive()), context.Background()
}

// A program that survives the hostile wrapper survives a cluster's bad days.
func ExampleHostile() {
	ctx := context.Background()
	db := Hostile(newNaive(), HostileOptions{Seed: 1})
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
