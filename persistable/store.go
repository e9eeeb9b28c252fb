// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
)

// Store holds the records of type T with ids of type ID in one directory.
// Generated stores embed it. It is a small immutable value, safe for concurrent
// use; making one costs no round trip.
//
// Bound to a transaction by In, its operations belong to that transaction;
// otherwise each is a transaction of its own and retried until ctx ends.
type Store[T, ID any] struct {
	schema *Schema[T, ID]
	source[T]
}

// source is a store without its id type.
type source[T any] struct {
	record *record[T]
	place  *place
	tx     *transaction // nil: each operation is a transaction of its own
	err    error        // why the store cannot be used
}

// NewStore returns the store of the schema's records for the directory
// arguments, one per {Field}. It is called by generated code. A wrong argument
// (empty, too long, not UTF-8) is reported by every operation, as a
// *[DirectoryError]; a "/" in one means nothing.
func NewStore[T, ID any](db *DB, schema *Schema[T, ID], args ...string) Store[T, ID] {
	r, err := schema.record()
	if err == nil && !db.isOpen() {
		err = fmt.Errorf("persistable: %s: %w", r.typ, errNoDB)
	}
	s := Store[T, ID]{schema, source[T]{record: r, err: err}}
	if err != nil {
		return s
	}
	key := placeKey{schema, joinArgs(args)}
	if s.place = db.places.get(key); s.place == nil {
		if s.place, s.err = newPlace(db, r, schema.Directory, args); s.err == nil {
			s.place = db.places.put(key, s.place)
		}
	}
	return s
}

// In returns the store bound to a transaction.
func (s Store[T, ID]) In(tx Tx) Store[T, ID] {
	s.tx = tx.t
	s.err = s.usable()
	switch {
	case s.err != nil:
	case tx.t == nil:
		s.err = fmt.Errorf("persistable: %s: the zero Tx is no transaction: use the one that Transact gives, or that of DB.In", s.record.typ)
	case tx.t.db != s.place.db:
		s.err = fmt.Errorf("persistable: %s: the store and the transaction belong to different databases", s.record.typ)
	}
	return s
}

// usable returns why the store cannot be used, or nil.
func (s *source[T]) usable() error {
	if s.err == nil && s.place == nil {
		return errNoStore
	}
	return s.err
}

var (
	errNoStore = errors.New("persistable: the zero store has no database: make it by its …StoreOf function, or NewStore")
	errNoDB    = errors.New("there is no database: use the DB that Open returned")
)

// mayPut returns why v cannot be written, or nil.
func (s *source[T]) mayPut(v *T) error {
	err := s.usable()
	if err == nil && v == nil {
		return fmt.Errorf("persistable: %s: a nil *%s cannot be written", s.record.typ, s.record.typ)
	}
	return err
}

// Path returns the path of the store's directory, nil if it has none because
// of a wrong argument.
func (s Store[T, ID]) Path() []string {
	if s.place == nil {
		return nil
	}
	return append([]string(nil), s.place.path...)
}

// Arg returns the i-th directory argument, "" if there is none.
func (s Store[T, ID]) Arg(i int) string {
	if s.place == nil || i < 0 || i >= len(s.place.args) {
		return ""
	}
	return s.place.args[i]
}

// write runs fn in the store's transaction, or in one of its own.
func (s *source[T]) write(ctx context.Context, fn func(*transaction) error) error {
	switch err := s.usable(); {
	case err != nil:
		return err
	case s.tx == nil:
		return s.place.db.alone(ctx, fn)
	case s.tx.writer == nil:
		return ErrReadOnly
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn(s.tx)
}

// read is write for operations that only read.
func (s *source[T]) read(ctx context.Context, fn func(*transaction) error) error {
	switch err := s.usable(); {
	case err != nil:
		return err
	case s.tx == nil:
		return s.place.db.read(ctx, fn)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn(s.tx)
}

// Create writes a new record. If its id is zero, one is made and set before the
// first attempt; in a transaction that is refused with [ErrNoID], because the
// transaction's function may run again. A record with the same id is an
// [ErrExists], values of a unique index that another record has are a
// *[UniqueError], a record of another tenant is a *[DirectoryError]; then
// nothing is written.
//
// Cost: one round of reads (the record's key and the unique keys, in parallel)
// and the commit.
func (s Store[T, ID]) Create(ctx context.Context, v *T) error {
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	how := putting{mustBeNew: true, fence: s.idFence(v)}
	return s.write(ctx, func(t *transaction) error { return s.record.put(ctx, t, s.place, v, how) })
}

// CreateWithID is Create under an id that the caller chooses, for imports and
// restores. It sets v's id.
func (s Store[T, ID]) CreateWithID(ctx context.Context, id ID, v *T) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	s.schema.SetID(v, id)
	how := putting{mustBeNew: true}
	return s.write(ctx, func(t *transaction) error { return s.record.put(ctx, t, s.place, v, how) })
}

// Save writes a record, over a stored one with the same id if there is one. Its
// index entries are brought from what the stored form has to what v has. Fields
// that this program does not know stay as stored. Errors are those of Create
// but for ErrExists.
//
// Save does not ask what the caller has read: it writes over what others have
// saved since, and a record that others have deleted since is there again. To
// change what is stored use [Store.Update], or [Store.SaveExisting] and
// [Store.SaveIfUnchanged].
//
// Unique values are checked with each Save. Two records of one transaction that
// are to exchange theirs need a third value, or null, for one of them first:
// save it, then the other, and then the first again.
//
// Cost: one round of reads and the commit.
func (s Store[T, ID]) Save(ctx context.Context, v *T) error {
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	how := putting{fence: s.idFence(v)}
	return s.write(ctx, func(t *transaction) error { return s.record.put(ctx, t, s.place, v, how) })
}

// ensureID gives a record an id if it has none, outside of all transactions.
func (s *Store[T, ID]) ensureID(ctx context.Context, v *T) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	if s.schema.IsZeroID == nil || !s.schema.IsZeroID(s.schema.ID(v)) {
		return nil
	}
	switch {
	case s.schema.NewID == nil:
		return fmt.Errorf("%w: %s: set it, ids of this type are not made", ErrNoID, s.record.typ)
	case s.tx != nil:
		return fmt.Errorf("%w: %s: make it before the transaction, with New%s: the function may run again and would make another", ErrNoID, s.record.typ, s.record.typ)
	}
	id, err := s.newID(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoID, s.record.typ, err)
	}
	s.schema.SetID(v, id)
	return nil
}

// Delete removes the record with that id and its index entries. If there is
// none, it does nothing.
//
// Cost: one round of reads and the commit.
func (s Store[T, ID]) Delete(ctx context.Context, id ID) error {
	return s.write(ctx, func(t *transaction) error {
		return s.record.delete(ctx, t, s.place, func(b []byte) []byte { return s.schema.AppendID(b, id) })
	})
}

// Index returns the query of all records in the order of the schema's i-th
// index. It is for generated code.
func (s Store[T, ID]) Index(i int) Query[T] {
	return Query[T]{source: s.source, plan: plan{index: i}}
}

// Scan returns the query of all records in the order of their ids.
func (s Store[T, ID]) Scan() RangeQuery[T, ID] {
	q := Query[T]{source: s.source, plan: plan{index: byID}}
	if s.usable() != nil {
		return RangeQuery[T, ID]{query: q}
	}
	return Range(q, s.schema.AppendID)
}

// state returns the state error of an index that may not be read.
func (s *source[T]) state(o *openStore, i int) error {
	if ix := &o.indexes[i]; ix.State != index.Readable {
		return &IndexStateError{Type: s.record.typ, Index: ix.Name, State: ix.State}
	}
	return nil
}
