// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// One process at a time sends invoices; what it writes is refused once another
// has taken its place.
func ExampleNames_Acquire() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	names, err := leasefdb.NewNames(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	lease, err := names.Acquire(ctx, "invoices", leasefdb.Claim{Holder: "host-1"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = names.TryAcquire(ctx, "invoices", leasefdb.Claim{Holder: "host-2"})
	fmt.Println(err)

	sent := func(tx kv.Transaction) error {
		if err := lease.Check(ctx, tx); err != nil {
			return err
		}
		tx.Set([]byte("invoice 7"), []byte("sent"))
		return nil
	}
	fmt.Println(db.Transact(ctx, sent))

	if err := names.Break(ctx, db, "invoices", lease.Grant().Epoch); err != nil { // an operator knows that the holder is gone
		log.Fatal(err)
	}
	fmt.Println(errors.Is(db.Transact(ctx, sent), leasefdb.ErrLeaseLost))
	<-lease.Context().Done()
	fmt.Println(context.Cause(lease.Context()))
	// Output:
	// leasefdb: the lease is held by another: "invoices" is held by "host-1" under epoch 1
	// <nil>
	// true
	// leasefdb: the lease is lost: "invoices" under epoch 1: it was released
}

// Two processes make IDs for one database; no configuration tells them apart.
func ExampleNew() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		leases, err := leasefdb.New(db, leasefdb.Options{})
		if err != nil {
			log.Fatal(err)
		}
		ids, err := idgen.NewClient(idgen.Options{Provider: leases})
		if err != nil {
			log.Fatal(err)
		}
		defer ids.Shutdown(ctx)
		id, err := ids.Next(ctx)
		fmt.Println(id.IsFallback(), err)
	}
	// Output:
	// false <nil>
	// false <nil>
}
