// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// source is a store or the store of a query: a type of records at a place, and
// perhaps a transaction.
type source struct {
	record *record
	place  *place
	db     *DB          // in which the source's own transactions run; nil without a place
	tx     *transaction // nil: each operation is a transaction of its own
	err    error        // why the store cannot be used

	allowScan   bool // Find may read all records
	withDeleted bool // deleted records are there
}

// newSource returns the source of a store or a query.
func newSource(e *erased.Source) source {
	s := source{err: e.Err, allowScan: e.AllowScan, withDeleted: e.WithDeleted}
	s.place, _ = e.Place.(*place)
	s.tx, _ = e.Tx.(*transaction)
	if s.place != nil {
		s.record, s.db = s.place.record, s.place.db
	}
	if db, ok := e.DB.(*DB); ok {
		s.db = db
	}
	return s
}

// toErased returns the source for a query.
func (s *source) toErased() erased.Source {
	e := erased.Source{Err: s.err, AllowScan: s.allowScan, WithDeleted: s.withDeleted}
	if s.place != nil {
		e.Place = s.place
		setDB(&e, s.db)
	}
	if s.tx != nil {
		e.Tx = s.tx
	}
	return e
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
		return s.db.transactOnce(ctx, fn)
	case s.tx.isReadOnly():
		return fmt.Errorf("%w: use Transact instead of ReadTransact", ErrReadOnly)
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
		return s.db.readOnly(ctx, fn)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn(s.tx)
}

// begin begins an operation of the source: a method with that name, perhaps on the
// schema's i-th index. The caller goes on with the context that begin returns.
func (s *source) begin(ctx context.Context, name string, i int) (context.Context, *operation) {
	if s.place == nil || s.place.db.options.Tracer == nil {
		return ctx, nil
	}
	op := Operation{Name: name, Type: s.record.Type, Path: s.place.path}
	if i != byID {
		op.Index = s.record.Indexes[i].Name
	}
	return s.db.begin(ctx, op, s.tx)
}

// nameEnded adds the name of a verb, the type and the id to err if ctx has ended: the engine's
// error then says only what was waited for. It does not look for ctx's cause in err: a cause
// need not be comparable. The packed id is v's if v is not nil.
func (s *source) nameEnded(ctx context.Context, verb string, id []byte, v any, err *error) {
	if *err == nil || s.record == nil || ctx.Err() == nil {
		return
	}
	if v != nil && s.record.hasID(v) {
		id = s.record.appendID(nil, v)
	}
	what := s.record.Type
	if len(id) > 0 {
		what += " " + idText(id)
	}
	*err = fmt.Errorf("persistable: %s of %s%s: %w", verb, what, s.place.inDirectory(), *err)
}

func (s source) create(ctx context.Context, v any) (err error) {
	ctx, o := s.begin(ctx, "Create", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Create", nil, v, &err)
	if err := s.complete(ctx, v, true); err != nil {
		return err
	}
	fence, err := s.db.ids.fenceOf(ctx, s.record, v)
	if err != nil {
		return err
	}
	return s.put(ctx, v, putOptions{mustBeNew: true, fence: fence})
}

func (s source) save(ctx context.Context, v any) (err error) {
	ctx, o := s.begin(ctx, "Save", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Save", nil, v, &err)
	if err := s.complete(ctx, v, false); err != nil {
		return err
	}
	fence, err := s.db.ids.fenceOf(ctx, s.record, v)
	if err != nil {
		return err
	}
	return s.put(ctx, v, putOptions{fence: fence})
}

// getOrCreate creates v and returns it, or returns the stored record that has its id
// or its unique values.
func (s source) getOrCreate(ctx context.Context, v any) (found any, err error) {
	ctx, o := s.begin(ctx, "GetOrCreate", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "GetOrCreate", nil, v, &err)
	made := s.record.IDs.Made() && !s.record.hasID(v)
	if err := s.complete(ctx, v, true); err != nil {
		return nil, err
	}
	fence, err := s.db.ids.fenceOf(ctx, s.record, v)
	if err != nil {
		return nil, err
	}
	sc := getScratch()
	defer sc.release()
	how := putOptions{mustBeNew: true, mustHaveUnique: made, fence: fence}
	err = s.runWrite(ctx, func(t *transaction) (err error) {
		w := s.newWrite(t, sc, how)
		w.v = v
		if found, err = w.getOrCreate(ctx); err == nil && found != v && w.hooked {
			err = s.undoHooks(t)
		}
		return err
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, err
}

// errFound ends the transaction of a GetOrCreate that has found a record: nothing that hooks have
// written is committed.
var errFound = errors.New("persistable: the record is there")

// undoHooks ends a GetOrCreate that has found a record after hooks have written in its transaction.
func (s *source) undoHooks(t *transaction) error {
	if s.tx == nil {
		return errFound
	}
	err := fmt.Errorf("persistable: %s: GetOrCreate has found a record after BeforeCreate, BeforeSave or Validate wrote in the transaction, which therefore cannot be committed: "+
		"call it in a transaction of its own, or Get and Create", s.record.Type)
	t.spoil(err)
	return err
}

// update changes the record with that packed id by change, in the source's
// transaction or in one of its own.
func (s source) update(ctx context.Context, id []byte, change func(v any) error) (err error) {
	ctx, o := s.begin(ctx, "Update", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Update", id, nil, &err)
	sc := getScratch()
	defer sc.release()
	run := func(t *transaction) error {
		sc.id = append(sc.id[:0], id...)
		w := s.newWrite(t, sc, putOptions{mustExist: true})
		w.change = change
		return w.update(ctx)
	}
	if s.tx != nil || s.checkUsable() != nil {
		return s.runWrite(ctx, run)
	}
	return s.db.transactFunction(ctx, func(t *transaction) error {
		t.untouched = true
		return run(t)
	})
}

// saveIfUnchanged saves v if the stored record still is was.
func (s source) saveIfUnchanged(ctx context.Context, was, v any) (err error) {
	ctx, o := s.begin(ctx, "SaveIfUnchanged", byID)
	defer o.finish(&err)
	if err := errors.Join(s.mayPut(was), s.mayPut(v)); err != nil {
		return err
	}
	if !bytes.Equal(s.record.appendID(nil, was), s.record.appendID(nil, v)) {
		return &FieldError{Type: s.record.Type, Field: "ID", Reason: "it differs from the id of the record that the caller has seen"}
	}
	seen, err := s.record.Encode([]byte{}, was)
	if err != nil {
		return err
	}
	return s.replace(ctx, "SaveIfUnchanged", v, putOptions{mustExist: true, seen: seen})
}

// replace puts a record over the stored one, for the verb with that name.
func (s source) replace(ctx context.Context, verb string, v any, how putOptions) (err error) {
	ctx, o := s.begin(ctx, verb, byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, verb, nil, v, &err)
	if err := s.mayPut(v); err != nil {
		return err
	}
	if err := s.makeReadyToReplace(v); err != nil {
		return err
	}
	return s.put(ctx, v, how)
}

// delete removes the record with the packed id in sc.
func (s *source) delete(ctx context.Context, sc *scratch) (err error) {
	ctx, o := s.begin(ctx, "Delete", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Delete", sc.id, nil, &err)
	return s.runWrite(ctx, func(t *transaction) error {
		w := s.newWrite(t, sc, putOptions{})
		return w.run(ctx)
	})
}

// deleteIfUnchanged deletes the record if the stored one still is was.
func (s source) deleteIfUnchanged(ctx context.Context, was any) (err error) {
	ctx, o := s.begin(ctx, "DeleteIfUnchanged", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "DeleteIfUnchanged", nil, was, &err)
	if err := s.mayPut(was); err != nil {
		return err
	}
	seen, err := s.record.Encode([]byte{}, was)
	if err != nil {
		return err
	}
	sc := getScratch()
	defer sc.release()
	sc.id = s.record.appendID(sc.id[:0], was)
	return s.runWrite(ctx, func(t *transaction) error {
		w := s.newWrite(t, sc, putOptions{mustExist: true, seen: seen})
		return w.run(ctx)
	})
}

// writeMany puts the records of a sequence and returns how many it has written.
func (s source) writeMany(ctx context.Context, o BatchOptions, how putOptions, vs iter.Seq2[any, error]) (n int, err error) {
	name := "SaveMany"
	if how.mustBeNew {
		name = "CreateMany"
	}
	ctx, op := s.begin(ctx, name, byID)
	defer op.finish(&err)
	defer s.nameEnded(ctx, name, nil, nil, &err)
	m, err := newBatcher(&s, o)
	if err != nil {
		return 0, err
	}
	return m.putAll(ctx, how, vs)
}

// deleteMany deletes the records with these packed ids.
func (s source) deleteMany(ctx context.Context, ids [][]byte, o BatchOptions) (err error) {
	ctx, op := s.begin(ctx, "DeleteMany", byID)
	defer op.finish(&err)
	defer s.nameEnded(ctx, "DeleteMany", nil, nil, &err)
	m, err := newBatcher(&s, o)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		if err := m.deleteIDs(ctx, ids); err != nil {
			return err
		}
		ids = ids[m.taken:]
	}
	return nil
}

// deleteWhere deletes the records of a query.
func (s source) deleteWhere(ctx context.Context, q *query, o BatchOptions) (n int, err error) {
	ctx, op := s.begin(ctx, "DeleteWhere", byID)
	defer op.finish(&err)
	defer s.nameEnded(ctx, "DeleteWhere", nil, nil, &err)
	d, err := newDeletion(&s, q, o)
	if err != nil {
		return 0, err
	}
	return d.run(ctx)
}

// mayBuild returns why the store's indexes cannot be built or verified, or nil.
func (s *source) mayBuild() error {
	switch err := s.checkUsable(); {
	case err != nil:
		return err
	case s.tx != nil:
		return fmt.Errorf("persistable: %s: indexes are built and verified in transactions of their own: use a store that is not bound to one", s.record.Type)
	}
	return nil
}

// prepareMaintenance is mayBuild, and has the source's transactions run as maintenance.
func (s *source) prepareMaintenance() error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	s.db = s.db.Maintenance()
	return nil
}

// mayPut returns why v cannot be written, or nil.
func (s *source) mayPut(v any) error {
	err := s.checkUsable()
	if err == nil && v == nil {
		return fmt.Errorf("persistable: %s: a nil *%s cannot be written", s.record.Type, s.record.Type)
	}
	return err
}

// put writes a record in the source's transaction, or in one of its own.
func (s *source) put(ctx context.Context, v any, how putOptions) error {
	sc := getScratch()
	defer sc.release()
	return s.runWrite(ctx, func(t *transaction) error {
		w := s.newWrite(t, sc, how)
		w.v = v
		return w.run(ctx)
	})
}

// complete makes a record ready to be written: it has an id, and its hooks were
// called. Where the program assigns the ids a hook may set it.
func (s *source) complete(ctx context.Context, v any, creates bool) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	s.record.stamp(v, creates)
	if s.record.Hooks.InTransaction() {
		return nil
	}
	if err := s.record.callEach(ctx, Tx{}, v, creates); err != nil {
		return err
	}
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	return s.record.checkID(v)
}

// ensureID makes an id for a record that has none, outside of all transactions, if the
// library makes the ids of the type.
func (s *source) ensureID(ctx context.Context, v any) error {
	if s.record.hasID(v) || !s.record.IDs.Made() {
		return nil
	}
	if s.tx != nil {
		return fmt.Errorf("%w: %s: make it before the transaction, with New%s after Open: the function may run again and would make another id", ErrNoID, s.record.Type, s.record.Type)
	}
	if err := s.db.ids.makeFor(ctx, s.record, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoID, s.record.Type, err)
	}
	return nil
}

// makeReadyToReplace makes a record ready. Its hooks may set an id that is missing.
func (s *source) makeReadyToReplace(v any) error {
	if !s.record.hasID(v) {
		return s.record.makeReady(v, false)
	}
	return s.record.makeReadyAs(s.record.appendID(nil, v), v, false)
}
