// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "leases")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := sqlite.Open(filepath.Join(dir, "leases.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	server, err := lease.NewServer(store, lease.Options{Fresh: true}) // the file is new: no lease is in force
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for range 2 {
		if _, err := server.Acquire(ctx, idgen.AcquireRequest{Meta: map[string]string{"host": "a"}}); err != nil {
			log.Fatal(err)
		}
	}
	page, err := server.List(ctx, "", lease.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range page.Leases {
		fmt.Println(info.SequenceBits, info.Expired.Sub(info.Created), info.Meta)
	}
	// Output:
	// 8 10m0s map[host:a]
	// 8 10m0s map[host:a]
}
