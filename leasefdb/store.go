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

// StoreOptions configure a [Store]. The zero value is ready to use.
type StoreOptions struct {
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the leases. All programs that lease machine ids
	// from the database use the same. The default value is kazahana/leases.
	Path []string
	// Now reads the clock by which leases begin and end. Leases stay disjoint
	// whatever it says. The default value is time.Now.
	Now func() time.Time
}

// NewStore returns the leases in a directory of db. Nothing is read or written:
// the first update creates the directory.
func NewStore(db kv.Database, o StoreOptions) (*Store, error) {
	if db == nil {
		return nil, errors.New("leasefdb: the database of the leases is nil")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "leases"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
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
		return prefix, fn(&storeTx{tx: tx, prefix: servicePrefix(prefix, service), now: s.now()})
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
	tx     kv.Transaction
	prefix []byte // with room after it for a key
	now    time.Time
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
		reads[i] = t.tx.Get(t.key(key))
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
	found, err := t.tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact}).Slice(ctx)
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
func (t *storeTx) Set(key, value []byte) { t.tx.Set(t.key(key), value) }

// Delete implements [lease.Tx].
func (t *storeTx) Delete(key []byte) { t.tx.Clear(t.key(key)) }

var _ lease.Enumerator = (*Store)(nil)

// Services implements [lease.Enumerator]: it reads one key of each service. It
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
// it. It is for tools, which examine the map without a [Store]; see [lease.Examine].
func NewReader(tx kv.ReadTransaction, directory []byte, service string) lease.Reader {
	return serviceReader{tx, servicePrefix(directory, service)}
}

type serviceReader struct {
	tx     kv.ReadTransaction
	prefix []byte
}

func (r serviceReader) key(key []byte) []byte {
	return append(r.prefix[:len(r.prefix):len(r.prefix)], key...)
}

// Get implements [lease.Reader].
func (r serviceReader) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	own := make([][]byte, len(keys))
	for i, key := range keys {
		own[i] = r.key(key)
	}
	values := make([][]byte, len(keys))
	for i, read := range kv.GetMany(r.tx, own) {
		var err error
		if values[i], err = read.Get(ctx); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Scan implements [lease.Reader].
func (r serviceReader) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	keys := kv.KeyRange{Begin: r.key(begin), End: r.key(end)}
	found, err := r.tx.GetRange(keys.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	pairs := make([]lease.Pair, len(found))
	for i, pair := range found {
		pairs[i] = lease.Pair{Key: pair.Key[len(r.prefix):], Value: pair.Value}
	}
	return pairs, nil
}
