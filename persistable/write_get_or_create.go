// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
)

// getOrCreate creates the record and returns it, or returns the stored one that is in
// its way. If other writes of the transaction came in between, it looks once more, with
// the lock.
func (w *write) getOrCreate(ctx context.Context) (found any, err error) {
	defer func() { w.spoilCreation(err) }()
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
	return errors.Is(err, ErrExists) && !w.mustHaveUnique || errors.As(err, new(*UniqueError))
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
	return found, err
}

// checkUnique returns why the new form, whose id was made just now, cannot be looked
// for by unique values.
func (w *write) checkUnique() error {
	values := 0
	for i := range w.store.indexes {
		if !w.store.indexes[i].Unique {
			continue
		}
		if err := w.place.checkReadable(w.store, i); err != nil {
			return err
		}
		values += w.sc.now.Keys(i)
	}
	if values == 0 {
		return fmt.Errorf("%w: %s: GetOrCreate has nothing to look for: set the id, or the fields of a unique index", ErrNoID, w.Type)
	}
	return nil
}
