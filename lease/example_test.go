// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// mapStore is a store in a map. One lock makes its transactions serializable.
type mapStore struct {
	mu       sync.Mutex
	services map[string]map[string][]byte
}

func (s *mapStore) Update(_ context.Context, service string, fn func(lease.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pairs := maps.Clone(s.services[service])
	if pairs == nil {
		pairs = map[string][]byte{}
	}
	if err := fn(mapTx(pairs)); err != nil {
		return err // and the copy is dropped
	}
	s.services[service] = pairs
	return nil
}

func (s *mapStore) Services(_ context.Context, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.services))
	ids = slices.DeleteFunc(ids, func(id string) bool { return id <= after || len(s.services[id]) == 0 })
	return ids[:min(limit, len(ids))], nil
}

// mapTx is a transaction: a copy of the map of a service.
type mapTx map[string][]byte

func (t mapTx) Now() time.Time        { return time.Now() }
func (t mapTx) Set(key, value []byte) { t[string(key)] = value }
func (t mapTx) Delete(key []byte)     { delete(t, string(key)) }
func (t mapTx) Incarnation() string   { return "" }

func (t mapTx) Get(_ context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = t[string(key)]
	}
	return values, nil
}

func (t mapTx) Scan(_ context.Context, begin, end []byte, limit int) (found []lease.Pair, err error) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if key := []byte(name); len(found) < limit && bytes.Compare(key, begin) >= 0 && bytes.Compare(key, end) < 0 {
			found = append(found, lease.Pair{Key: key, Value: t[name]})
		}
	}
	return found, nil
}

// A store of your own needs an ordered map with transactions. Package leasetest
// checks it.
func ExampleStore() {
	store := &mapStore{services: map[string]map[string][]byte{}}
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	leases, err := server.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: "orders", Throughput: 300})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(leases), "lease of", leases[0].Throughput(), "positions for", leases[0].Duration())
	// Output: 1 lease of 512 positions for 10m0s
}
