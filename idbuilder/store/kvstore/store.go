// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// schema is the version of the layout that this program writes.
const schema = 1

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the service. All workers of one service use the
	// same. The default value is kazahana/idbuilder.
	Path []string
	// Now reads the clock for the times of documents. The default value is time.Now.
	Now func() time.Time
}

// Store is a [store.Store] in a directory of a database.
type Store struct {
	db     kv.Database
	path   []string
	dirs   *directory.Cache
	now    func() time.Time
	closed atomic.Bool
	puts   atomic.Uint64 // of documents that expire
}

var _ store.Store = (*Store)(nil)

// New returns a store in db, which the caller closes, after the store. Nothing is
// read or written.
func New(db kv.Database, o Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("kvstore: the database is nil")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "idbuilder"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, fmt.Errorf("kvstore: %w", err)
	}
	return &Store{db: db, path: o.Path, dirs: dirs, now: o.Now}, nil
}

// Init implements [store.Store].
func (s *Store) Init(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	err := s.db.Transact(ctx, func(tx kv.Transaction) error {
		dir, err := s.dirs.CreateOrOpen(ctx, tx, s.path)
		if err != nil {
			return err
		}
		k, err := keysOf(dir)
		if err != nil {
			return err
		}
		err = checkSchema(ctx, tx, k)
		if errors.Is(err, store.ErrNoSchema) {
			tx.Set(k.schema(), tuple.AppendInt(nil, schema))
			return nil
		}
		return err
	})
	return s.explainError("init", err)
}

// checkSchema reads the version of the schema.
func checkSchema(ctx context.Context, tx kv.ReadTransaction, k keys) error {
	value, err := tx.Get(k.schema()).Get(ctx)
	if err != nil {
		return err
	}
	return judgeSchema(k, value)
}

func judgeSchema(k keys, value []byte) error {
	if value == nil {
		return store.ErrNoSchema
	}
	version, rest, err := tuple.ReadInt(value)
	if err != nil || len(rest) > 0 || version < 1 {
		return corrupt(k.schema(), fmt.Errorf("%x is not a version of the schema", value))
	}
	if version > schema {
		return &store.SchemaError{Found: int(version), Supported: schema}
	}
	return nil
}

// Ping implements [store.Store]. It commits a write that changes nothing.
func (s *Store) Ping(ctx context.Context) error {
	_, err := write(ctx, s, "ping", func(tx *transaction) (struct{}, error) {
		tx.Clear(tx.keys.ping())
		return struct{}{}, nil
	})
	return err
}

// Close implements [store.Store]. The database stays open.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context) (int64, error) {
	return read(ctx, s, "revision", func(tx kv.ReadTransaction, k keys) (int64, error) {
		return counter(ctx, tx, k.revision())
	})
}

// Advance implements [store.Store].
func (s *Store) Advance(ctx context.Context) (int64, error) {
	return write(ctx, s, "advance", func(tx *transaction) (int64, error) {
		tx.Atomic(kv.Add, tx.keys.revision(), kv.Int64(1))
		return counter(ctx, tx, tx.keys.revision())
	})
}

// directoryName returns the name of the directory in messages.
func (s *Store) directoryName() string { return strings.Join(s.path, "/") }

// explainError adds the name of the call to an error, and turns errors about a missing
// directory into [store.ErrNoSchema].
func (s *Store) explainError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, directory.ErrNotFound):
		return fmt.Errorf("kvstore: %s: the directory %s: %w", what, s.directoryName(), store.ErrNoSchema)
	case errors.Is(err, kv.ErrClosed):
		return fmt.Errorf("kvstore: %s: %w: %w", what, store.ErrClosed, err)
	}
	return fmt.Errorf("kvstore: %s: %w", what, err)
}
