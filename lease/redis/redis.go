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

// ErrContended says that others changed what a transaction had read, again and
// again. Nothing was changed.
var ErrContended = errors.New("redis: too many transactions at once")

// attempts is how often a transaction is tried.
const attempts = 100

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
	for attempt := range attempts {
		t := &tx{store: s, keys: keys, read: map[string][]byte{}}
		if err := t.begin(ctx); err != nil {
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
		if err := wait(ctx, attempt); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: service %q after %d attempts; try again later", ErrContended, service, attempts)
}

// wait waits before the next attempt: longer after more of them, up to 50 ms.
func wait(ctx context.Context, attempt int) error {
	longest := min(50*time.Millisecond, time.Millisecond<<min(attempt, 6))
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tx is a transaction: what it read and is to write.
type tx struct {
	store  *Store
	keys   []string
	now    time.Time
	life   string
	read   map[string][]byte // by key of the map; nil where there was none
	gets   int
	writes []lease.Pair // a nil value deletes
}

// begin reads the server's clock and identity.
func (t *tx) begin(ctx context.Context) error {
	identity := 1
	if t.store.durable {
		identity = 0
	}
	reply, err := beginScript.Run(ctx, t.store.client, t.keys, identity).Slice()
	if err != nil {
		return failure("begin", err)
	}
	var seconds, micros int64
	if len(reply) != 3 {
		return fmt.Errorf("redis: begin: the reply has %d parts", len(reply))
	}
	if _, err := fmt.Sscan(fmt.Sprint(reply[0], " ", reply[1]), &seconds, &micros); err != nil {
		return fmt.Errorf("redis: begin: the time is %v: %w", reply[:2], err)
	}
	t.now = time.Unix(seconds, micros*1000)
	t.life = fmt.Sprint(reply[2])
	return nil
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Incarnation implements [lease.IncarnationTx]: the run id of the server.
func (t *tx) Incarnation() string { return t.life }

// Get implements [lease.Tx].
func (t *tx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	t.gets++
	fields := make([]string, len(keys))
	for i, key := range keys {
		fields[i] = string(key)
	}
	reply, err := t.store.client.HMGet(ctx, t.keys[1], fields...).Result()
	if err != nil {
		return nil, failure("get", err)
	}
	values := make([][]byte, len(keys))
	for i, field := range fields {
		if text, ok := reply[i].(string); ok {
			values[i] = []byte(text)
		}
		if _, again := t.read[field]; !again { // a second reading that differs fails at the commit
			t.read[field] = values[i]
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	reply, err := scanScript.Run(ctx, t.store.client, t.keys, "["+string(begin), "("+string(end), limit).StringSlice()
	if err != nil {
		return nil, failure("scan", err)
	}
	pairs := make([]lease.Pair, len(reply)/2)
	for i := range pairs {
		pairs[i] = lease.Pair{Key: []byte(reply[2*i]), Value: []byte(reply[2*i+1])}
	}
	return pairs, nil
}

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) { t.writes = append(t.writes, lease.Pair{Key: key, Value: value}) }

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }

// commit writes, if all that was read is still so; it reports whether.
func (t *tx) commit(ctx context.Context) (bool, error) {
	if len(t.writes) == 0 && t.gets <= 1 {
		return true, nil
	}
	args := []any{t.life, len(t.read)}
	for key, value := range t.read {
		args = append(args, key, present(value), value)
	}
	for _, w := range t.writes {
		args = append(args, w.Key, present(w.Value), w.Value)
	}
	done, err := commitScript.Run(ctx, t.store.client, t.keys, args...).Int()
	if err != nil {
		return false, failure("commit", err)
	}
	return done == 1, nil
}

// present is how scripts are told of a value: "1", or "0" if there is none.
func present(value []byte) string {
	if value == nil {
		return "0"
	}
	return "1"
}

func failure(what string, err error) error { return fmt.Errorf("redis: %s: %w", what, err) }
