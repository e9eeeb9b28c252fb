// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/tuple"
)

// Store keeps the leases of machine ids in one directory of a database: what
// package lease decides about them is on the keys (service, key of the
// service's map). It is a [lease.Store], safe for concurrent use.
type Store struct {
	db   kv.Database
	path []string
	dirs *directory.Cache
	now  func() time.Time

	prefix atomic.Pointer[[]byte] // of the directory, as the last update that committed has seen it
}

// NewStore returns the leases in a directory of db, for a [lease.Server] of the caller's: it
// does not look at [Options.Lease]. Nothing is read or written: the first update creates the
// directory.
func NewStore(db kv.Database, o Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("leasefdb: the database of the leases is nil")
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "leases"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dirs, err := newCache(db, o.Layer)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, path: o.Path, dirs: dirs, now: o.Now}, nil
}

// Update implements [lease.Store]. A commit that loses its acknowledgement runs
// fn again, on what was committed.
func (s *Store) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	prefix, err := kv.Transact(ctx, s.db, func(tx kv.Transaction) ([]byte, error) {
		d, err := s.dirs.CreateOrOpen(ctx, tx, s.path)
		if err != nil {
			return nil, err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		return prefix, fn(&storeTx{reads: tx, scans: tx.Snapshot(), writes: tx, prefix: servicePrefix(prefix, service), now: s.now()})
	})
	if err != nil {
		return err // the directory that the transaction would have made may not be there
	}
	if known := s.prefix.Load(); known == nil || string(*known) != string(prefix) {
		s.prefix.Store(&prefix)
	}
	return nil
}

// servicePrefix returns the prefix of a service's map.
func servicePrefix(directory []byte, service string) []byte {
	b := append(make([]byte, 0, len(directory)+len(service)+64), directory...)
	return tuple.AppendString(b, service)
}

// storeTx is the map of one service in a transaction.
type storeTx struct {
	reads, scans kv.ReadTransaction
	writes       kv.Transaction // nil if it only reads
	prefix       []byte         // with room after it for a key
	now          time.Time
}

// Now implements [lease.Tx].
func (t *storeTx) Now() time.Time { return t.now }

// key returns the key in the database. It is valid until the next call: the
// engine copies keys.
func (t *storeTx) key(key []byte) []byte { return append(t.prefix, key...) }

// Get implements [lease.Tx].
func (t *storeTx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	reads := make([]kv.Future[[]byte], len(keys))
	for i, key := range keys {
		reads[i] = t.reads.Get(t.key(key))
	}
	values := make([][]byte, len(keys))
	for i, read := range reads {
		var err error
		if values[i], err = read.Get(ctx); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *storeTx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	if limit <= 0 {
		return nil, nil
	}
	r := kv.KeyRange{Begin: append([]byte(nil), t.key(begin)...), End: t.key(end)}
	found, err := t.scans.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	pairs := make([]lease.Pair, len(found))
	for i, pair := range found {
		pairs[i] = lease.Pair{Key: pair.Key[len(t.prefix):], Value: pair.Value}
	}
	return pairs, nil
}

// Set implements [lease.Tx].
func (t *storeTx) Set(key, value []byte) { t.writes.Set(t.key(key), value) }

// Delete implements [lease.Tx].
func (t *storeTx) Delete(key []byte) { t.writes.Clear(t.key(key)) }

// Incarnation implements [lease.Tx]: an engine forgets nothing that it has acknowledged.
func (t *storeTx) Incarnation() string { return "" }

var _ lease.Store = (*Store)(nil)

// Services implements [lease.Store]: it reads one key of each service. It
// does not create the directory of the leases.
func (s *Store) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	err = s.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.dirs.OpenRead(ctx, tx, s.path)
		if errors.Is(err, directory.ErrNotFound) {
			ids = nil
			return nil
		}
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		ids, err = listServices(ctx, tx.Snapshot(), prefix, after, limit)
		return err
	})
	return ids, err
}

// listServices jumps from the first key of a service to that of the next.
func listServices(ctx context.Context, tx kv.ReadTransaction, prefix []byte, after string, limit int) (ids []string, err error) {
	all := kv.PrefixRange(prefix)
	if after != "" {
		all.Begin = kv.PrefixRange(servicePrefix(prefix, after)).End
	}
	for len(ids) < limit {
		pairs, err := tx.GetRange(all.Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
		if err != nil || len(pairs) == 0 {
			return ids, err
		}
		id, err := parseService(pairs[0].Key[len(prefix):])
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		all.Begin = kv.PrefixRange(servicePrefix(prefix, id)).End
	}
	return ids, nil
}

// parseService returns the service that a key in the directory belongs to.
func parseService(key []byte) (string, error) {
	// Service ids have no zero byte, and the key of the service's map follows.
	for i := 1; i < len(key); i++ {
		if key[i] != 0 {
			continue
		}
		name, err := tuple.Unpack(key[:i+1])
		if err == nil && len(name) == 1 {
			if id, ok := name[0].(string); ok {
				return id, nil
			}
		}
		break
	}
	return "", fmt.Errorf("leasefdb: the directory of the leases has a key that belongs to no service: %q", key)
}

// NewReader returns the map of a service in the directory with that prefix, as tx reads
// it. It is for tools, which examine the map without a [Store]; see [lease.Examine]. One
// goroutine uses it.
func NewReader(tx kv.ReadTransaction, directory []byte, service string) lease.Reader {
	return &storeTx{reads: tx, scans: tx, prefix: servicePrefix(directory, service)}
}
