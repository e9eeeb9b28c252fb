// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

func ExampleLeaser_Lease() {
	leaser, err := New(storetest.Documents(), Options{})
	if err != nil {
		log.Fatal(err)
	}
	key := Key{Name: "events", Version: 1, Layout: Layout{
		SkipSize: 1, BaseTS: 1767225600000, TSSize: 41, WorkerIDSize: 10, SeqSize: 12,
	}}
	ctx := context.Background()
	first, err := leaser.Lease(ctx, key, Client{Renews: true})
	if err != nil {
		log.Fatal(err)
	}
	again, err := leaser.Lease(ctx, key, Client{LeaseKey: first.LeaseKey}) // within first.Duration
	if err != nil {
		log.Fatal(err)
	}
	active, err := leaser.Active(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ask again within", first.Duration)
	fmt.Println("the same worker id:", again.WorkerID == first.WorkerID, again.Renewed)
	fmt.Println("active:", active)
	// Output:
	// ask again within 10m0s
	// the same worker id: true true
	// active: 1
}
