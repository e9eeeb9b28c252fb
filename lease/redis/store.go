// SPDX-License-Identifier: Apache-2.0

// Package redis leases machine ids from Redis, alone or in a cluster. On a new
// Redis set [lease.Options.Fresh] for the first start: otherwise nothing is granted
// for eleven minutes, because a new Redis looks like one that has lost its leases.
//
//	client := goredis.NewClient(&goredis.Options{Addr: "redis:6379"})
//	defer client.Close()
//	store, err := redis.New(client, redis.Options{})
//	if err != nil {
//		return err
//	}
//	provider, err := lease.NewServer(store, lease.Options{}) // for the first start: lease.Options{Fresh: true}
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider})
//
// Leases begin by the clock of the Redis server, never by that of a client. A
// service has two keys with one hash tag in their names; each commit is one script
// that compares what was read before it writes.
//
// # Losses
//
// Redis acknowledges writes that a crash or a failover can take back. The store
// records which server it used: after a restart, a failover or a flush, a service
// is in quarantine for as long as a lease lasts, and a minute. If nothing was lost,
// [lease.Server.EndQuarantine] ends that. Until then clients go
// on with the leases that they have, then with the fallback bit. [Options.Durable]
// turns that off for a Redis that cannot lose writes.
//
// After a partition of the network a master that was cut off may go on serving the
// clients on its side, and clients on the other side do not notice. If replicas can
// take over, set min-replicas-to-write to 1 and min-replicas-max-lag to a few
// seconds: the old master then refuses to grant. Set maxmemory-policy to
// noeviction.
//
// Everything in this package is safe for concurrent use.
package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
	goredis "github.com/redis/go-redis/v9"
)

// Options configure a [Store]. The zero value is right for most.
type Options struct {
	// Prefix begins the names of the keys; "" means "kazahana". It must not
	// contain braces: they mark the part that decides the slot in a cluster.
	Prefix string
	// Durable says that this Redis never forgets what it acknowledged: it syncs
	// each write (appendfsync always) and has no failover. Otherwise the store
	// notices when another server answers than before, or the same one after a
	// restart, and the services go into quarantine: see [lease.Tx.Incarnation].
	Durable bool
}

// ErrContended says that other transactions changed what a transaction had read, in
// all of its attempts. Nothing was changed.
var ErrContended = errors.New("redis: too many transactions at once")

// maxAttempts is how often a transaction is tried.
const maxAttempts = 100

// Store is a [lease.Store] in Redis, of version 6 or later, or in a cluster.
// Transactions are optimistic: what they read is compared by the script that
// writes.
type Store struct {
	client  goredis.UniversalClient
	prefix  string
	durable bool
}

var _ lease.Store = (*Store)(nil)

// New returns a store that uses client, which the caller closes. It does not
// talk to Redis.
func New(client goredis.UniversalClient, options Options) (*Store, error) {
	if strings.ContainsAny(options.Prefix, "{}") {
		return nil, fmt.Errorf("redis: the prefix %q contains braces", options.Prefix)
	}
	if options.Prefix == "" {
		options.Prefix = "kazahana"
	}
	return &Store{client: client, prefix: options.Prefix, durable: options.Durable}, nil
}

// keys are those of a service: a sorted set of all keys of the map, and a hash
// with their values. They lie in one slot of a cluster.
func (s *Store) keys(service string) []string {
	return []string{s.prefix + ":{" + service + "}:keys", s.prefix + ":{" + service + "}:values"}
}

// Update implements [lease.Store]. The clock is that of the Redis server. When a
// reply was lost, the client sends the commit again, which then finds the map
// changed by itself: fn runs again, and sees what it did.
func (s *Store) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	keys := s.keys(service)
	for attempt := range maxAttempts {
		t := &tx{store: s, service: service, keys: keys, read: map[string][]byte{}}
		if err := t.readServer(ctx); err != nil {
			return err
		}
		err := fn(t)
		if err != nil {
			return err
		}
		committed, err := t.commit(ctx)
		if committed || err != nil {
			return err
		}
		if err := sleep.For(ctx, rand.N(min(50*time.Millisecond, time.Millisecond<<min(attempt, 6)))); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: service %q after %d attempts; try again later", ErrContended, service, maxAttempts)
}

// await waits for a command until it has ended, or ctx has. Clients read their sockets
// until a timeout of their own, whatever the context says, unless they were made with
// ContextTimeoutEnabled; and then cancelling it changes nothing. A command that is left
// alone ends by that timeout.
func await[T any](ctx context.Context, command func(context.Context) (T, error)) (result T, err error) {
	if ctx.Done() == nil {
		return command(ctx)
	}
	done := make(chan struct{})
	var late T
	var lateErr error
	go func() {
		defer close(done)
		late, lateErr = command(ctx)
	}()
	select {
	case <-done:
		return late, lateErr
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}

func wrapError(what string, err error) error { return fmt.Errorf("redis: %s: %w", what, err) }

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

// Services implements [lease.Store]. It reads the set of all services, and for each
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
