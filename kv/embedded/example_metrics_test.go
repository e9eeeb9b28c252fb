// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"expvar"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

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
