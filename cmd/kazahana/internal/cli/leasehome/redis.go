// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease/redis"
)

// openRedis takes the URLs that go-redis takes: redis://user:password@host:port/db.
func openRedis(_ context.Context, o OpenOptions) (*Home, error) {
	logging.Disable() // it logs connections; errors are returned as well
	client, err := redisClient(o.At)
	if err != nil {
		return nil, err
	}
	store, err := redis.New(client, redis.Options{})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return serverOf(store, o, client.Close)
}

func redisClient(url string) (*goredis.Client, error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return nil, shell.Invalid(errors.New("this is no URL of Redis, as redis://host:6379/0 is")) // the cause may quote a password
	}
	return goredis.NewClient(options), nil
}
