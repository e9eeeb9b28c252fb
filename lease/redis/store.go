// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
)

// Options configure a [Store]. The zero value is right for most.
type Options struct {
	// Prefix begins the names of the keys; "" means "kazahana". It must not
	// contain braces: they mark the part that decides the slot in a cluster.
	Prefix string
	// Durable says that this Redis never forgets what it acknowledged: it syncs
	// each write (appendfsync always) and has no failover. Otherwise the store
	// notices when another server answers than before, or the same one after a
	// restart, and the services go into quarantine: see [lease.IncarnationTx].
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
