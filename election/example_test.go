// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// A process campaigns, leads and writes in its term; a second term has a higher
// rank, and what the first one writes is refused.
func Example() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	e, err := election.New(db, "invoices", election.Options{Candidate: "host-1", Once: true})
	if err != nil {
		log.Fatal(err)
	}
	send := func(tx kv.Transaction) error {
		tx.Set([]byte("invoice 7"), []byte("sent"))
		return nil
	}
	var first election.Term
	err = e.Run(ctx, func(ctx context.Context, term election.Term) error {
		first = term
		fmt.Println("rank", term.Rank(), term.Under(db).Transact(ctx, send))
		return nil // resigns
	})
	fmt.Println(err)
	err = e.Run(ctx, func(ctx context.Context, term election.Term) error {
		fmt.Println("rank", term.Rank(), term.Under(db).Transact(ctx, send))
		err := first.Under(db).Transact(ctx, send)
		fmt.Println(errors.Is(err, election.ErrDeposed), err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// rank 1 <nil>
	// <nil>
	// rank 2 <nil>
	// true leasefdb: the lease is lost: "invoices" under epoch 1: it is held by "host-1" under epoch 2
	// <nil>
}

// An observer sees the leader, and each change of that.
func ExampleElection_Observe() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	e, err := election.New(db, "invoices", election.Options{Candidate: "host-1", Once: true})
	if err != nil {
		log.Fatal(err)
	}
	seen := make(chan bool)
	go e.Run(ctx, func(ctx context.Context, term election.Term) error {
		<-seen
		return nil
	})
	for status, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case status.Leader != "":
			fmt.Println(status.Leader, "leads under rank", status.Rank)
			close(seen)
		case status.Rank > 0:
			fmt.Println("no leader")
			return
		}
	}
	// Output:
	// host-1 leads under rank 1
	// no leader
}
