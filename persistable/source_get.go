// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// get returns the record with the packed id in sc.
func (s source) get(ctx context.Context, sc *scratch) (v any, err error) {
	ctx, o := s.begin(ctx, "Get", byID)
	defer o.finish(&err)
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	if s.tx != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return s.getIn(ctx, s.tx, sc)
	}
	// One allocation for all attempts.
	g := singleGet{source: s, ctx: ctx, sc: sc, operation: o}
	if err := s.place.db.engine.ReadTransact(ctx, g.run); err != nil {
		return nil, err
	}
	return g.v, nil
}

// singleGet is a get in a transaction of its own.
type singleGet struct {
	source source
	ctx    context.Context
	sc     *scratch
	t      transaction
	v      any

	operation *operation
}

func (g *singleGet) run(reader kv.ReadTransaction) (err error) {
	g.operation.startAttempt()
	g.t = transaction{db: g.source.place.db, operation: g.operation, Transaction: scan.Transaction{Reader: g.operation.measureReads(reader).Snapshot()}}
	g.v, err = g.source.getIn(g.ctx, &g.t, g.sc)
	return err
}

func (s *source) getIn(ctx context.Context, t *transaction, sc *scratch) (any, error) {
	l := lookup{place: s.place, t: t, sc: sc, index: byID, suffix: sc.id}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	if l.store == nil || l.value == nil {
		return nil, s.notFound(sc.id)
	}
	v, err := s.record.readValue(ctx, t.Reader, sc.id, sc.key, l.value)
	if err != nil {
		return nil, err
	}
	return v, l.versions.fill(ctx, 0, v)
}

func (s *source) notFound(id []byte) error {
	return fmt.Errorf("%w: %s %s%s", ErrNotFound, s.record.Type, idText(id), s.place.inDirectory())
}

// exists reports whether there is a record with the packed id in sc.
func (s *source) exists(ctx context.Context, sc *scratch) (found bool, err error) {
	ctx, o := s.begin(ctx, "Exists", byID)
	defer o.finish(&err)
	err = s.runRead(ctx, func(t *transaction) error {
		l := lookup{place: s.place, t: t, sc: sc, index: byID, suffix: sc.id}
		err := l.run(ctx)
		found = l.store != nil && l.value != nil
		return err
	})
	return found && err == nil, err
}

// getMany calls take with the records of n packed ids, in order, and with nil for a
// record that does not exist. Another attempt begins again with the first.
func (s *source) getMany(ctx context.Context, n int, id func(i int) []byte, take func(i int, v any)) (err error) {
	ctx, o := s.begin(ctx, "GetMany", byID)
	defer o.finish(&err)
	return s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil {
			return err
		}
		f := fetches{record: s.record, reader: t.Reader}
		versions := newVersionReads(s.record, t, o)
		for i := range n {
			if o == nil {
				take(i, nil)
				continue
			}
			f.records = o.records
			f.add(id(i))
			versions.add(id(i))
		}
		f.start()
		for i := range f.values {
			v, err := f.awaitRecord(ctx, i)
			if err != nil {
				return err
			}
			if err := versions.fill(ctx, i, v); err != nil {
				return err
			}
			take(i, v)
		}
		return nil
	})
}

// byUnique returns the record that has a key of the schema's i-th index, which
// is unique, or [ErrNotFound].
//
// Cost: two rounds of reads, one if the index is covering.
func (s source) byUnique(ctx context.Context, i int, values []byte) (v any, err error) {
	ctx, o := s.begin(ctx, "GetUnique", i)
	defer o.finish(&err)
	err = s.runRead(ctx, func(t *transaction) (err error) {
		v, err = s.getUnique(ctx, t, i, values)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *source) getUnique(ctx context.Context, t *transaction, i int, values []byte) (any, error) {
	sc := getScratch()
	defer sc.release()
	l := lookup{place: s.place, t: t, sc: sc, index: i, suffix: values}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	if l.store == nil || l.value == nil {
		return nil, s.noOwner(i, values)
	}
	return s.recordOfEntry(ctx, t, l.store, &l.store.indexes[i], sc.key, l.value)
}

// recordOfEntry returns the record that a unique entry names or holds.
func (s *source) recordOfEntry(ctx context.Context, t *transaction, o *openStore, ix *index.Index, entry, value []byte) (v any, err error) {
	id, record, err := index.SplitUnique(ix.Definition, entry, value)
	if err != nil {
		return nil, s.record.indexError(err)
	}
	f := fetches{record: s.record, reader: t.Reader, records: o.records}
	versions := newVersionReads(s.record, t, o)
	versions.add(id)
	if len(record) > 0 && ix.Cover {
		v, err = s.record.readValue(ctx, t.Reader, id, o.records.Append(nil, id), record)
	} else {
		f.add(id)
		f.start()
		v, err = f.awaitRecord(ctx, 0)
	}
	if err == nil && v == nil {
		err = s.record.danglingEntry(ix, entry, id)
	}
	if err != nil {
		return nil, err
	}
	return v, versions.fill(ctx, 0, v)
}

func (s *source) noOwner(i int, values []byte) error {
	var with string
	if have, err := s.record.Indexes[i].Values(values); err == nil {
		with = valuesText(s.record.Indexes[i].Fields, have)
	}
	return fmt.Errorf("%w: %s with %s%s", ErrNotFound, s.record.Type, with, s.place.inDirectory())
}
