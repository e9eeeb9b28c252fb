// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"fmt"
	"log"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/redis"
)

// It needs a Redis, so it is compiled and not run.
func Example() {
	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer func() { _ = client.Close() }()
	store, err := redis.New(client, redis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server, err := lease.NewServer(store, lease.Options{})
	if err != nil {
		log.Fatal(err)
	}
	leases, err := server.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: "orders"})
	if err != nil {
		log.Fatal(err) // for the first 11 minutes a *lease.QuarantineError: the service might have been lost
	}
	fmt.Println(len(leases))
}
