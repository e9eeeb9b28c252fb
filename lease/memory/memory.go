// SPDX-License-Identifier: Apache-2.0

// Package memory leases machine ids from the memory of this process: for tests,
// and for a lease server with clients that can wait while it starts.
//
//	provider, err := memory.New(memory.Options{})
//	if err != nil {
//		return err
//	}
//	leases, err := provider.Acquire(ctx, idgen.AcquireRequest{ServiceID: "orders"})
//	if err != nil {
//		return err
//	}
//	err = provider.Release(ctx, leases[0].Release("orders", leases[0].Created-1, time.Now()))
//
// Nothing outlives the process. A server of other processes sets [Options.Restarted],
// so that it does not grant again what they still hold.
//
// Everything in this package is safe for concurrent use.
package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/btree"
	"github.com/kazahana-db/kazahana/lease"
)

// Options configure what [New] returns. The zero value grants at once, which is right
// for a program that leases only to itself.
type Options struct {
	// Server configures the granting. Its Fresh is not used: see Restarted.
	Server lease.Options
	// Restarted says that other processes may hold leases that an earlier life of
	// this process granted: nothing is granted until those have ended. Set it where
	// other processes lease from this one, as through lease/http.
	Restarted bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// New returns a server of leases in a [Store] of its own, which has granted nothing yet.
// The error is what [lease.Options.Validate] finds.
func New(options Options) (*lease.Server, error) {
	options.Server.Fresh = !options.Restarted
	return lease.NewServer(NewStore(options.Now), options.Server)
}

var _ lease.Store = (*Store)(nil)

// Store is a [lease.Store] in memory. Transactions run one after the other.
type Store struct {
	now func() time.Time

	mu       sync.Mutex
	services map[string]*btree.BTreeG[lease.Pair]
}

// NewStore returns an empty store with a clock; nil means [time.Now].
func NewStore(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, services: map[string]*btree.BTreeG[lease.Pair]{}}
}

// Update implements [lease.Store]. fn runs once. It waits for the transactions
// before it, not for ctx.
func (s *Store) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pairs := s.services[service]
	if pairs == nil {
		pairs = btree.NewG(16, func(a, b lease.Pair) bool { return bytes.Compare(a.Key, b.Key) < 0 })
	}
	tx := &tx{now: s.now(), pairs: pairs}
	if err := fn(tx); err != nil {
		return err
	}
	for _, w := range tx.writes {
		if w.Value == nil {
			pairs.Delete(w)
		} else {
			pairs.ReplaceOrInsert(w)
		}
	}
	if pairs.Len() == 0 {
		delete(s.services, service)
		return nil
	}
	s.services[service] = pairs
	return nil
}

// Services implements [lease.Store].
func (s *Store) Services(_ context.Context, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.services))
	all = slices.DeleteFunc(all, func(id string) bool { return id <= after })
	return all[:min(limit, len(all))], nil
}

// tx is a transaction: the store is locked while it lasts.
type tx struct {
	now    time.Time
	pairs  *btree.BTreeG[lease.Pair]
	writes []lease.Pair // in order; a nil value deletes
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Get implements [lease.Tx].
func (t *tx) Get(_ context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if pair, ok := t.pairs.Get(lease.Pair{Key: key}); ok {
			values[i] = pair.Value
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(_ context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	var found []lease.Pair
	t.pairs.AscendRange(lease.Pair{Key: begin}, lease.Pair{Key: end}, func(pair lease.Pair) bool {
		found = append(found, pair)
		return len(found) < limit
	})
	return found, nil
}

// Incarnation implements [lease.Tx]: the store forgets nothing that it has acknowledged.
func (t *tx) Incarnation() string { return "" }

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) { t.writes = append(t.writes, lease.Pair{Key: key, Value: value}) }

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }
