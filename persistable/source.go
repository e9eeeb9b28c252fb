// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// source is a store or the store of a query: a type of records at a place, and
// perhaps a transaction.
type source struct {
	record *record
	place  *place
	tx     *transaction // nil: each operation is a transaction of its own
	err    error        // why the store cannot be used

	allowScan bool // Find may read all records
}

// newSource returns the source of a store or a query.
func newSource(e *erased.Source) source {
	s := source{err: e.Err, allowScan: e.AllowScan}
	s.place, _ = e.Place.(*place)
	s.tx, _ = e.Tx.(*transaction)
	if s.place != nil {
		s.record = s.place.record
	}
	return s
}

// toErased returns the source for a query.
func (s *source) toErased() erased.Source {
	e := erased.Source{Err: s.err, AllowScan: s.allowScan}
	if s.place != nil {
		e.Place = s.place
	}
	if s.tx != nil {
		e.Tx = s.tx
	}
	return e
}

func init() { erased.Runtime = implementation{} }

// implementation is what package persistimpl calls.
type implementation struct{}

func (implementation) Open(db any, schema *erased.Schema, args []string) erased.Source {
	return openSource(db.(*DB), schema, args)
}

func (implementation) Args(e *erased.Source) []string {
	s := newSource(e)
	if s.place == nil {
		return nil
	}
	return s.place.args
}

func (implementation) NewID(e *erased.Source) int64 {
	if e == nil {
		return int64(newSharedID())
	}
	s := newSource(e)
	if s.place == nil {
		return 0
	}
	return int64(s.place.db.ids.newID())
}

func (implementation) Unique(ctx context.Context, e *erased.Source, i int, values []byte) (any, error) {
	return newSource(e).byUnique(ctx, i, values)
}

// openSource returns the source of the schema's records for the directory
// arguments, one per {Field}. A wrong argument (empty, too long, not UTF-8) is
// reported by every operation, as a *[DirectoryError].
func openSource(db *DB, schema *erased.Schema, args []string) erased.Source {
	_, err := schema.Parsed()
	if err == nil && !db.isOpen() {
		err = fmt.Errorf("persistable: %s: %w", schema.Type, errNoDB)
	}
	if err != nil {
		return erased.Source{Err: err}
	}
	if schema.Dynamic != nil { // the schema is of one store: no other one finds its place by it
		p, err := newPlace(db, &record{Schema: schema}, args)
		if err != nil {
			return erased.Source{Err: err}
		}
		return erased.Source{Place: p}
	}
	key := placeKey{schema, joinArgs(args)}
	if known := db.places.get(key); known != nil {
		return erased.Source{Place: known}
	}
	p, err := newPlace(db, &record{Schema: schema}, args)
	if err != nil {
		return erased.Source{Err: err}
	}
	return erased.Source{Place: db.places.put(key, p)}
}

// bind binds a source to a transaction.
func bind(e *erased.Source, tx Tx) {
	s := newSource(e)
	e.Tx = tx.t
	e.Err = s.checkUsable()
	switch {
	case e.Err != nil:
	case tx.t == nil:
		e.Err = fmt.Errorf("persistable: %s: the zero Tx is no transaction: use the one that Transact gives, or that of DB.In", s.record.Type)
	case tx.t.db != s.place.db:
		e.Err = fmt.Errorf("persistable: %s: the store and the transaction belong to different databases", s.record.Type)
	}
}

// checkUsable returns why the store cannot be used, or nil.
func (s *source) checkUsable() error {
	if s.err == nil && s.place == nil {
		return errNoStore
	}
	return s.err
}

var (
	errNoStore = errors.New("persistable: the zero store has no database: make it by its …StoreOf function")
	errNoDB    = errors.New("there is no database: use the DB that Open returned")
)

// path returns the path of the directory, nil if it has none.
func (s source) path() []string {
	if s.place == nil {
		return nil
	}
	return append([]string(nil), s.place.path...)
}

// runWrite runs fn in the source's transaction, or in one of its own.
func (s *source) runWrite(ctx context.Context, fn func(*transaction) error) error {
	switch err := s.checkUsable(); {
	case err != nil:
		return err
	case s.tx == nil:
		return s.place.db.transactOnce(ctx, fn)
	case s.tx.isReadOnly():
		return ErrReadOnly
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn(s.tx)
}

// runRead is runWrite for operations that only read.
func (s *source) runRead(ctx context.Context, fn func(*transaction) error) error {
	switch err := s.checkUsable(); {
	case err != nil:
		return err
	case s.tx == nil:
		return s.place.db.readOnly(ctx, fn)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn(s.tx)
}
