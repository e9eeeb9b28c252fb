// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// Two processes join, one drains and leaves; a third one watches.
func ExampleRegistry() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	members, err := membership.New(db, membership.Options{})
	if err != nil {
		log.Fatal(err)
	}
	joinAs := func(name string) *membership.Member {
		m, err := members.Join(ctx, membership.Self{Name: name, Address: name + ".internal:80", Kinds: []string{"account"}})
		if err != nil {
			log.Fatal(err)
		}
		return m
	}
	one, two := joinAs("bank-1"), joinAs("bank-2")
	defer two.Leave(ctx)

	for topology, err := range members.Watch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print("version ", topology.Version, ":")
		for _, m := range topology.Members {
			fmt.Print(" ", m.Owner, map[bool]string{true: " (draining)"}[m.Draining])
		}
		fmt.Println()
		switch topology.Version {
		case 2:
			err = one.Drain(ctx)
		case 3:
			err = one.Leave(ctx)
		}
		if err != nil {
			log.Fatal(err)
		}
		if len(topology.Members) == 1 {
			break
		}
	}
	fmt.Println(errors.Is(context.Cause(one.Context()), membership.ErrLeft))
	// Output:
	// version 2: bank-1#1 bank-2#1
	// version 3: bank-1#1 (draining) bank-2#1
	// version 4: bank-2#1
	// true
}
