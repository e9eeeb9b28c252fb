// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/lease"
)

var _ lease.Enumerator = (*Store)(nil)

// scanCount is how many keys Redis looks at in one step.
const scanCount = 1000

// Services implements [lease.Enumerator]. It looks at all keys of the Redis, in
// small steps, or of every master of a cluster.
func (s *Store) Services(ctx context.Context, after string, limit int) ([]string, error) {
	var mu sync.Mutex
	found := map[string]bool{}
	scan := func(ctx context.Context, node goredis.Cmdable) error {
		keys := node.Scan(ctx, 0, s.pattern(), scanCount).Iterator()
		for keys.Next(ctx) {
			if id, ok := s.serviceOf(keys.Val()); ok && id > after {
				mu.Lock()
				found[id] = true
				mu.Unlock()
			}
		}
		return keys.Err()
	}
	err := s.forEach(ctx, scan)
	if err != nil {
		return nil, wrapError("scan", err)
	}
	all := slices.Sorted(maps.Keys(found))
	return all[:min(limit, len(all))], nil
}

// forEach calls do with each node that has keys of its own.
func (s *Store) forEach(ctx context.Context, do func(context.Context, goredis.Cmdable) error) error {
	switch client := s.client.(type) {
	case *goredis.ClusterClient:
		return client.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error { return do(ctx, node) })
	case *goredis.Ring:
		return client.ForEachShard(ctx, func(ctx context.Context, node *goredis.Client) error { return do(ctx, node) })
	}
	return do(ctx, s.client)
}

// pattern matches the names of the keys of all services.
func (s *Store) pattern() string {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	return escape.Replace(s.prefix) + ":{*}:keys"
}

// serviceOf is the inverse of keys.
func (s *Store) serviceOf(key string) (id string, ok bool) {
	rest, begins := strings.CutPrefix(key, s.prefix+":{")
	id, ends := strings.CutSuffix(rest, "}:keys")
	return id, begins && ends
}
