// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// The clock stands still, so that the output is always the same.
func Example() {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	provider, err := memory.New(memory.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	leases, err := provider.Acquire(ctx, idgen.AcquireRequest{ServiceID: "orders", Throughput: 1000})
	if err != nil {
		log.Fatal(err)
	}
	l := leases[0]
	fmt.Println(len(leases), "lease of", l.Throughput(), "positions for", l.Duration())

	err = provider.Release(ctx, l.Release("orders", l.Created-1, now))
	fmt.Println("released:", err)
	// Output:
	// 1 lease of 1024 positions for 10m0s
	// released: <nil>
}
