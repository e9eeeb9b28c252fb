// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
)

// It needs a Redis, so it is compiled and not run.
func Example() {
	client := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: []string{"localhost:6379"}})
	defer func() { _ = client.Close() }()
	s, err := redis.New(client, redis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	if err := s.Init(ctx); errors.Is(err, store.ErrLost) {
		log.Fatal("another server has taken over: look at what it may have lost, then confirm")
	} else if err != nil {
		log.Fatal(err)
	}
	r, err := s.Reserve(ctx, "orders", store.Reservation{Start: 1000, Step: 1, Count: 100, Bound: math.MaxInt64})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the numbers from %d to %d are mine\n", r.From+1, r.To)
}
