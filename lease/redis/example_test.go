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
	// The first start says that the Redis is new. Later ones leave Fresh false, so
	// that a Redis which has lost its leases grants nothing before they have ended.
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		log.Fatal(err)
	}
	leases, err := server.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(leases))
}
