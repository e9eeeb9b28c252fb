// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"crypto/rand"
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
		return store.NewerSchema(int(version), schema)
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

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return store.Document{}, err
	}
	return read(ctx, s, "get", func(tx kv.ReadTransaction, k keys) (store.Document, error) {
		found, err := readDocuments(ctx, tx, k, kind, k.documentRange(kind, key), 1)
		if err != nil {
			return store.Document{}, err
		}
		if len(found) == 0 {
			return store.Document{}, store.ErrNotFound
		}
		return found[0], nil
	})
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil || strings.Contains(o.Prefix, "\x00") { // which no key has
		return nil, err
	}
	return read(ctx, s, "list", func(tx kv.ReadTransaction, k keys) ([]store.Document, error) {
		return readDocuments(ctx, tx, k, kind, k.list(kind, o), o.Most())
	})
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate()); err != nil {
		return 0, err
	}
	mark, now := rand.Text(), s.now()
	version, err := write(ctx, s, "put", func(tx *transaction) (int64, error) {
		old, err := readHead(ctx, tx, tx.keys, kind, d.Key)
		if err != nil {
			return 0, err
		}
		if old.mark == mark { // written by an attempt before
			return old.Version, nil
		}
		if old.Version != d.Version {
			return 0, tx.conflictError()
		}
		created := document{Document: d, mark: mark}
		created.Created, created.Updated = old.Created, now
		if old.Version == 0 {
			created.Created = now
			if old.Version, err = counter(ctx, tx.Snapshot(), tx.keys.deleted(kind)); err != nil {
				return 0, err
			}
		}
		created.Version = old.Version + 1
		tx.removeDocument(kind, old)
		tx.putDocument(kind, created)
		return created.Version, nil
	})
	if err == nil && !d.Expires.IsZero() && s.puts.Add(1)%sweepEvery == 0 {
		_ = s.sweepExpired(ctx) // the document is stored; the next sweep removes the rest
	}
	return version, err
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	_, err := write(ctx, s, "delete", func(tx *transaction) (none struct{}, err error) {
		d, err := readHead(ctx, tx, tx.keys, kind, key)
		switch {
		case err != nil || d.Version == 0:
			return none, err
		case d.Version != version:
			return none, tx.conflictError()
		}
		tx.eraseDocument(kind, d)
		return none, nil
	})
	return err
}

// Reserve implements [store.Store].
func (s *Store) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if err := errors.Join(store.CheckName(name), r.Validate()); err != nil {
		return store.Range{}, err
	}
	mark := rand.Text()
	var made store.Range // by the last attempt
	return write(ctx, s, "reserve", func(tx *transaction) (store.Range, error) {
		q, err := readSequence(ctx, tx, tx.keys, name)
		if err != nil || q.mark == mark { // written by an attempt before
			return made, err
		}
		if q.Version == 0 {
			q.Value = r.Start
		}
		made = store.Range{From: q.Value, Version: q.Version + 1}
		if made.To, err = r.Advance(q.Value); err != nil {
			return store.Range{}, err
		}
		q.Value = made.To
		return made, tx.setSequence(name, q, mark)
	})
}

// Sequence implements [store.Store].
func (s *Store) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	if err := store.CheckName(name); err != nil {
		return store.Sequence{}, err
	}
	return read(ctx, s, "sequence", func(tx kv.ReadTransaction, k keys) (store.Sequence, error) {
		q, err := readSequence(ctx, tx, k, name)
		if err == nil && q.Version == 0 {
			err = store.ErrNotFound
		}
		return q.Sequence, err
	})
}

// SetSequence implements [store.Store].
func (s *Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	mark := rand.Text()
	_, err := write(ctx, s, "set sequence", func(tx *transaction) (none struct{}, err error) {
		q, err := readSequence(ctx, tx, tx.keys, name)
		if err != nil || q.mark == mark { // written by an attempt before
			return none, err
		}
		if q.Version != version {
			return none, tx.conflictError()
		}
		q.Value = value
		return none, tx.setSequence(name, q, mark)
	})
	return err
}

// DeleteSequence implements [store.Store].
func (s *Store) DeleteSequence(ctx context.Context, name string) (found bool, err error) {
	if err := store.CheckName(name); err != nil {
		return false, err
	}
	return write(ctx, s, "delete sequence", func(tx *transaction) (bool, error) {
		key := tx.keys.sequence(name)
		value, err := tx.Get(key).Get(ctx)
		if err == nil && value != nil {
			tx.Clear(key)
		}
		return value != nil, err
	})
}

const (
	// sweepEvery is the number of expiring documents after which a process removes expired
	// ones, and sweepSize how many it removes.
	sweepEvery, sweepSize = 16, 64
	// sweepGrace is how long expired documents stay: clocks differ.
	sweepGrace = time.Minute
)

// sweepExpired removes expired documents.
func (s *Store) sweepExpired(ctx context.Context) error {
	until := nanoseconds(s.now().Add(-sweepGrace))
	_, err := write(ctx, s, "sweep", func(tx *transaction) (none struct{}, err error) {
		r := kv.KeyRange{Begin: tx.keys.pack(letterExpiry), End: tuple.AppendInt(tx.keys.pack(letterExpiry), until)}
		due, err := tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: sweepSize, Mode: kv.ModeExact}).Slice(ctx)
		for _, pair := range due {
			if err = errors.Join(err, tx.removeExpired(ctx, pair.Key)); err != nil {
				break
			}
		}
		return none, err
	})
	return err
}
