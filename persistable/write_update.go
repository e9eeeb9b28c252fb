// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
)

// maxOverlaps bounds how often an update begins again because other writes of its
// transaction changed the record while its function ran.
const maxOverlaps = 1000

// update puts what w.change makes of the stored record. Its rounds of reads: one for
// the stored form, and one more only for unique values that the change adds.
func (w *write) update(ctx context.Context) (err error) {
	if w.t.isReadOnly() {
		return w.readOnlyError()
	}
	defer func() { w.spoilPart(err) }()
	for range maxOverlaps {
		if again, err := w.tryUpdate(ctx); !again {
			return err
		}
	}
	return fmt.Errorf("persistable: %s %s: other writes of the transaction changed the record %d times while the function of Update ran: "+
		"the function itself must not write the record", w.Type, idText(w.sc.id), maxOverlaps)
}

// tryUpdate is update but for overlaps: if the record was changed in the transaction
// after it was read, the update must begin again.
func (w *write) tryUpdate(ctx context.Context) (again bool, err error) {
	w.v = nil // until the stored form is known
	if err := w.prepare(ctx); err != nil || w.store == nil {
		return false, err
	}
	err = w.readAndChange(ctx)
	if lost := w.t.awaitFences(ctx); lost != nil {
		return false, lost
	}
	if err != nil {
		return false, err
	}
	w.t.writeLock.Lock()
	defer w.t.writeLock.Unlock()
	if w.t.Writes.Count.Load() != w.writesBefore {
		if again, err = w.overlaps(ctx); again || err != nil {
			return again, err
		}
	}
	defer w.t.Writes.Count.Add(1)
	return false, w.apply(ctx)
}

// readAndChange reads the stored form and makes the new one of it.
func (w *write) readAndChange(ctx context.Context) error {
	if err := w.readStored(ctx); err != nil {
		return err
	}
	if err := w.hideDeleted(ctx); err != nil {
		return err
	}
	if err := w.checkExistence(); err != nil {
		return err
	}
	if err := w.readEntries(ctx); err != nil {
		return err
	}
	if err := w.changeRecord(ctx); err != nil {
		return err
	}
	return w.claimNew(ctx)
}

// changeRecord calls the function of Update and makes the new form.
func (w *write) changeRecord(ctx context.Context) (err error) {
	v := w.before
	if v == nil {
		if v, err = w.decodeRecord(w.old, w.sc.id, w.sc.key); err != nil {
			return err
		}
	}
	created := w.createdOf(v)
	if err := w.change(v); err != nil {
		return err
	}
	if err := w.makeReady(v, false); err != nil {
		return err
	}
	if changed := w.appendID(nil, v); !bytes.Equal(changed, w.sc.id) {
		return &FieldError{Type: w.Type, Field: "ID", Reason: fmt.Sprintf(
			"the function of Update changed it from %s to %s: create another record instead", idText(w.sc.id), idText(changed))}
	}
	w.v = v
	if err := w.callHooks(ctx); err != nil {
		return err
	}
	w.setCreated(v, created)
	return w.makeForm()
}

// claimNew reads the unique keys that the stored form does not have, and the records to which
// only the new form refers. It returns an error if another record owns such a key, or a record is
// missing.
func (w *write) claimNew(ctx context.Context) error {
	if err := cmp.Or(w.checkMark(), w.mergeForeign()); err != nil {
		return err
	}
	w.sc.claims.StartNew(w.t.writer, w.store.maintained, &w.sc.now, &w.sc.before)
	w.startRelations()
	if err := w.checkClaims(ctx); err != nil {
		return err
	}
	return w.related.check(ctx, w)
}

// overlaps reads once more what the transaction's other writes may have changed. It
// reports whether the record is not the one that the function was given.
func (w *write) overlaps(ctx context.Context) (changed bool, err error) {
	w.stored = w.t.writer.Get(w.sc.key)
	if err := w.readStored(ctx); err != nil {
		return false, err
	}
	if err := w.hideDeleted(ctx); err != nil {
		return false, err
	}
	if err := w.checkExistence(); err != nil {
		return false, err
	}
	now, err := w.readWhole(ctx, w.t.writer, w.sc.id, w.sc.key, w.value)
	if err != nil || now.Token != w.old.Token || !bytes.Equal(now.Payload, w.old.Payload) {
		return true, err
	}
	w.old = now
	return false, w.claimNew(ctx)
}

// getOrCreate creates the record and returns it, or returns the stored one that is in
// its way. If other writes of the transaction came in between, it looks once more, with
// the lock.
func (w *write) getOrCreate(ctx context.Context) (found any, err error) {
	defer func() { w.spoilPart(err) }()
	err = w.tryRun(ctx)
	if err == nil {
		return w.v, nil
	}
	if !w.isInTheWay(err) {
		return nil, err
	}
	found, err = w.readInTheWay(ctx, err)
	w.t.writeLock.Lock()
	defer w.t.writeLock.Unlock()
	if w.t.Writes.Count.Load() == w.writesBefore {
		return found, err
	}
	w.startReads()
	if err := w.readAndCheck(ctx); err != nil {
		return w.readInTheWay(ctx, err)
	}
	defer w.t.Writes.Count.Add(1)
	return w.v, w.apply(ctx)
}

// isInTheWay reports whether an error of run says that there may be a record to return.
func (w *write) isInTheWay(err error) bool {
	return errors.Is(err, ErrExists) && !errors.Is(err, ErrDeleted) && !w.mustHaveUnique || errors.As(err, new(*UniqueError))
}

// readInTheWay returns the stored record because of which the new form was refused by
// an error, or that error if there are several.
func (w *write) readInTheWay(ctx context.Context, refused error) (any, error) {
	var taken *UniqueError
	switch {
	case !w.isInTheWay(refused):
		return nil, refused
	case !errors.As(refused, &taken):
		return w.readValue(ctx, w.t.writer, w.sc.id, w.sc.key, w.value)
	}
	owners, err := w.sc.claims.Owners(ctx, w.store.maintained, &w.sc.now)
	if err != nil {
		return nil, w.indexError(err)
	}
	if len(owners) != 1 {
		return nil, taken
	}
	return w.readOwner(ctx, owners[0], taken)
}

// readOwner returns the record with that packed id, which owns a unique value.
func (w *write) readOwner(ctx context.Context, owner []byte, taken *UniqueError) (any, error) {
	f := fetches{record: w.record, reader: w.t.writer, records: w.store.records}
	f.add(owner)
	f.start()
	found, err := f.awaitRecord(ctx, 0)
	if err == nil && found == nil {
		err = corrupt(w.Type, owner, f.keys[0], "an entry of the index %s names this record, but it is not there", taken.Index)
	}
	if err == nil && w.hidesDeleted() && w.Deletion.Is(found) { // the index has the option withdeleted
		return nil, taken
	}
	return found, err
}

// checkUnique returns why the new form, with an id that was made just now, cannot be looked
// for by unique values.
func (w *write) checkUnique() error {
	values := 0
	for i := range w.store.indexes {
		if !w.store.indexes[i].Unique {
			continue
		}
		if err := w.checkReadable(w.store, i); err != nil {
			return err
		}
		values += w.sc.now.Keys(i)
	}
	if values == 0 {
		return fmt.Errorf("%w: %s: GetOrCreate has nothing to look for: set the id, or the fields of a unique index", ErrNoID, w.Type)
	}
	return nil
}
