// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/lease"
)

var _ lease.Enumerator = (*Store)(nil)

// servicesPage is how many services are looked at in one step.
const servicesPage = 1000

// servicesKey names the sorted set of all services. It lies in another slot of a cluster
// than the keys of most services, so no script writes both: a commit that writes adds its
// service before. The set may lack a service that was removed and is made again at the same
// time, or one of an earlier version of this package, until its next commit; and it has
// services that were removed until a listing finds them gone.
func (s *Store) servicesKey() string { return s.prefix + ":services" }

// register adds a service to the set of all.
func (s *Store) register(ctx context.Context, service string, writes bool) error {
	if !writes {
		return nil
	}
	_, err := await(ctx, func(ctx context.Context) (int64, error) {
		return s.client.ZAdd(ctx, s.servicesKey(), goredis.Z{Member: service}).Result()
	})
	if err != nil {
		return wrapError("register", err)
	}
	return nil
}

// Services implements [lease.Enumerator]. It reads the set of all services, and for each
// of them whether it has keys: the other keys of the Redis do not matter. A service that
// an earlier version of this package has made is listed once it was leased from since.
func (s *Store) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	for len(ids) < limit {
		page, err := await(ctx, func(ctx context.Context) ([]string, error) {
			begin := &goredis.ZRangeBy{Min: "(" + after, Max: "+", Count: servicesPage}
			if after == "" {
				begin.Min = "-"
			}
			return s.client.ZRangeByLex(ctx, s.servicesKey(), begin).Result()
		})
		if err != nil {
			return nil, wrapError("services", err)
		}
		found, err := s.dropRemoved(ctx, page)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
		if len(page) < servicesPage {
			break
		}
		after = page[len(page)-1]
	}
	return ids[:min(limit, len(ids))], nil
}

// dropRemoved returns those of the services that have keys, and takes the others out of
// the set.
func (s *Store) dropRemoved(ctx context.Context, services []string) (found []string, err error) {
	if len(services) == 0 {
		return nil, nil
	}
	replies, err := await(ctx, func(ctx context.Context) ([]goredis.Cmder, error) {
		return s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, service := range services {
				p.Exists(ctx, s.keys(service)[1])
			}
			return nil
		})
	})
	if err != nil {
		return nil, wrapError("services", err)
	}
	var removed []any
	for i, reply := range replies {
		if n, ok := reply.(*goredis.IntCmd); ok && n.Val() == 0 {
			removed = append(removed, services[i])
			continue
		}
		found = append(found, services[i])
	}
	if len(removed) == 0 {
		return found, nil
	}
	_, err = await(ctx, func(ctx context.Context) (int64, error) {
		return s.client.ZRem(ctx, s.servicesKey(), removed...).Result()
	})
	if err != nil {
		return nil, wrapError("services", err)
	}
	return found, nil
}
