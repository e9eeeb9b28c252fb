// SPDX-License-Identifier: Apache-2.0

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

var (
	_ lease.Store      = (*Store)(nil)
	_ lease.Enumerator = (*Store)(nil)
)

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

// Services implements [lease.Enumerator].
func (s *Store) Services(_ context.Context, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.services))
	all = slices.DeleteFunc(all, func(id string) bool { return id <= after })
	return all[:min(limit, len(all))], nil
}
