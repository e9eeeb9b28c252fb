// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

func openRedis(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	logging.Disable() // it logs connections; errors are returned as well
	client, err := redisClient(s.Redis)
	if err != nil {
		return Home{}, err
	}
	r, err := redis.New(client, redis.Options{
		Prefix: s.Redis.KeyPrefix, Durable: s.Redis.Durable, WaitReplicas: s.Redis.WaitReplicas, WaitTimeout: s.Redis.WaitTimeout,
	})
	if err != nil {
		return Home{}, errors.Join(err, client.Close())
	}
	return Home{redisHome{r, client}, fmt.Sprint(s.Redis.URL[0])}, nil
}

// redisClient returns a client of a server, or of a cluster, some of whose nodes the
// URLs name. User, password and TLS are those of the first URL.
func redisClient(s settings.RedisStorage) (goredis.UniversalClient, error) {
	o := &goredis.UniversalOptions{PoolSize: s.PoolSize, DialTimeout: s.ConnectTimeout, IsClusterMode: s.Clustered()}
	for i, u := range s.URL {
		node, err := goredis.ParseURL(u.Reveal())
		if err != nil {
			return nil, fmt.Errorf("storage.redis.url: %s is no URL of Redis, as redis://host:6379/0 is", u) // the cause may quote a password
		}
		o.Addrs = append(o.Addrs, node.Addr)
		switch {
		case i == 0:
			o.DB, o.Username, o.Password, o.TLSConfig = node.DB, node.Username, node.Password, node.TLSConfig
		case node.Username != o.Username || node.Password != o.Password || (node.TLSConfig == nil) != (o.TLSConfig == nil):
			return nil, errors.New("storage.redis.url: the URLs have different users, passwords or schemes; the nodes of a cluster share theirs")
		}
	}
	if s.Clustered() && o.DB != 0 {
		return nil, errors.New("storage.redis.url: a cluster has no database but 0")
	}
	return goredis.NewUniversalClient(o), nil
}

// redisHome closes the client with the store.
type redisHome struct {
	*redis.Store
	client goredis.UniversalClient
}

// Close implements [store.Store].
func (r redisHome) Close() error { return errors.Join(r.Store.Close(), r.client.Close()) }

var _ store.Confirmer = redisHome{}
