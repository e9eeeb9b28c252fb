// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Get returns the record with that id, or [ErrNotFound]. Bytes that cannot be
// decoded are a *[RecordError].
//
// Cost: one round of reads.
func (s Store[T, ID]) Get(ctx context.Context, id ID) (*T, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.tx != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return s.get(ctx, s.tx, id)
	}
	// All that the attempts need is one allocation.
	g := getting[T, ID]{store: s, ctx: ctx, id: id}
	if err := s.place.db.engine.ReadTransact(ctx, g.run); err != nil {
		return nil, err
	}
	return g.v, nil
}

// getting is a Get in a transaction of its own.
type getting[T, ID any] struct {
	store Store[T, ID]
	ctx   context.Context
	id    ID
	t     transaction
	v     *T
}

func (g *getting[T, ID]) run(reader kv.ReadTransaction) (err error) {
	g.t = transaction{db: g.store.place.db, reader: reader.Snapshot()}
	g.v, err = g.store.get(g.ctx, &g.t, g.id)
	return err
}

func (s *Store[T, ID]) get(ctx context.Context, t *transaction, id ID) (*T, error) {
	sc := getScratch()
	defer sc.free()
	sc.id = s.schema.AppendID(sc.id[:0], id)
	o, read, err := openAhead(ctx, t, s.place, t.open, func(o *openStore) kv.Future[[]byte] {
		sc.key = o.records.append(sc.key[:0], sc.id)
		return t.reader.Get(sc.key)
	}, settled)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, s.notFound(sc.id)
	}
	value, err := read.Get(ctx)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, s.notFound(sc.id)
	}
	return s.record.read(ctx, t.reader, sc.id, sc.key, value)
}

func (s *source[T]) notFound(id []byte) error {
	return fmt.Errorf("%w: %s %s%s", ErrNotFound, s.record.typ, idText(id), s.place.in())
}

// Exists reports whether there is a record with that id. It does not decode it.
//
// Cost: one round of reads.
func (s Store[T, ID]) Exists(ctx context.Context, id ID) (bool, error) {
	found := false
	err := s.read(ctx, func(t *transaction) error {
		o, err := t.open(ctx, s.place)
		if found = false; err != nil || o == nil {
			return err
		}
		sc := getScratch()
		defer sc.free()
		sc.id = s.schema.AppendID(sc.id[:0], id)
		sc.key = o.records.append(sc.key[:0], sc.id)
		value, err := t.reader.Get(sc.key).Get(ctx)
		found = value != nil
		return err
	})
	return found && err == nil, err
}

// GetMany returns the records with those ids, in their order, with nil where
// there is none.
//
// Cost: one round of reads, all in parallel.
func (s Store[T, ID]) GetMany(ctx context.Context, ids ...ID) ([]*T, error) {
	var all []*T
	err := s.read(ctx, func(t *transaction) error {
		all = make([]*T, len(ids))
		o, err := t.open(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		f := fetches[T]{record: s.record, reader: t.reader, records: o.records}
		for _, id := range ids {
			f.start(s.schema.AppendID(nil, id))
		}
		for i := range ids {
			if all[i], err = f.wait(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// fetches are reads of records under way.
type fetches[T any] struct {
	record  *record[T]
	reader  kv.ReadTransaction
	records keyspace
	keys    [][]byte
	values  []kv.Future[[]byte]
}

// start starts the read of the record with that packed id.
func (f *fetches[T]) start(id []byte) {
	key := f.records.append(nil, id)
	f.keys = append(f.keys, key)
	f.values = append(f.values, f.reader.Get(key))
}

// wait returns the i-th record, nil if there is none.
func (f *fetches[T]) wait(ctx context.Context, i int) (*T, error) {
	value, err := f.values[i].Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	return f.record.read(ctx, f.reader, f.id(i), f.keys[i], value)
}

// id returns the packed id of the i-th record.
func (f *fetches[T]) id(i int) []byte { return f.records.suffix(f.keys[i]) }

// Unique returns the record that has a key of the schema's i-th index, which is
// unique, or [ErrNotFound]. It is for generated code: appendKey appends the
// values.
//
// Cost: two rounds of reads, one if the index is covering.
func (s Store[T, ID]) Unique(ctx context.Context, i int, appendKey func([]byte) []byte) (*T, error) {
	var v *T
	err := s.read(ctx, func(t *transaction) (err error) {
		v, err = s.unique(ctx, t, i, appendKey)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *source[T]) unique(ctx context.Context, t *transaction, i int, appendKey func([]byte) []byte) (*T, error) {
	sc := getScratch()
	defer sc.free()
	o, read, err := openAhead(ctx, t, s.place, t.open, func(o *openStore) kv.Future[[]byte] {
		sc.key = appendKey(append(sc.key[:0], o.indexes[i].Prefix...))
		return t.reader.Get(sc.key)
	}, settled)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, s.noOwner(i, appendKey(nil))
	}
	if err := s.state(o, i); err != nil {
		return nil, err
	}
	ix := &o.indexes[i]
	value, err := read.Get(ctx)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, s.noOwner(i, sc.key[len(ix.Prefix):])
	}
	return s.owned(ctx, t, o, ix, sc.key, value)
}

// owned returns the record that a unique entry names or holds.
func (s *source[T]) owned(ctx context.Context, t *transaction, o *openStore, ix *index.Index, entry, value []byte) (*T, error) {
	id, record, err := index.SplitUnique(ix.Definition, entry, value)
	if err != nil {
		return nil, s.record.indexError(err)
	}
	f := fetches[T]{record: s.record, reader: t.reader, records: o.records}
	if len(record) > 0 {
		return s.record.read(ctx, t.reader, id, o.records.append(nil, id), record)
	}
	f.start(id)
	v, err := f.wait(ctx, 0)
	if err == nil && v == nil {
		err = s.record.dangling(ix, entry, id)
	}
	return v, err
}

// dangling is the fault of an index entry without a record.
func (r *record[T]) dangling(ix *index.Index, entry, id []byte) error {
	return &RecordError{
		Type: r.typ, ID: idText(id), Key: slices.Clone(entry),
		Reason: "an entry of the index " + ix.Name + " names this record, but it is not there",
		Remedy: "run Verify, then RebuildIndex",
	}
}

func (s *source[T]) noOwner(i int, values []byte) error {
	var with string
	if have, err := tuple.Unpack(values); err == nil {
		with = valuesText(s.record.indexes[i].Fields, have)
	}
	return fmt.Errorf("%w: %s with %s%s", ErrNotFound, s.record.typ, with, s.place.in())
}
