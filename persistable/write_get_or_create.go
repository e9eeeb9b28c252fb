// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
)

// getOrCreate creates the record and returns it, or returns the stored one that is in
// its way.
func (w *write) getOrCreate(ctx context.Context) (any, error) {
	for range maxOverlaps {
		err := w.run(ctx)
		var unique *UniqueError
		switch {
		case err == nil:
			return w.v, nil
		case errors.Is(err, ErrExists) && !w.mustHaveUnique:
			return w.readValue(ctx, w.t.writer, w.sc.id, w.sc.key, w.value)
		case !errors.As(err, &unique):
			return nil, err
		}
		if found, again, err := w.readOwner(ctx, unique); !again {
			return found, err
		}
	}
	return nil, fmt.Errorf("persistable: %s: other writes of the transaction removed the record with the unique values %d times", w.Type, maxOverlaps)
}

// readOwner returns the record that owns the unique values of the new form, or taken
// if several do. If another write of the transaction has removed the owner since it
// was found, the write must begin again.
func (w *write) readOwner(ctx context.Context, taken *UniqueError) (found any, again bool, err error) {
	owners, err := w.sc.claims.Owners(ctx, w.store.maintained, &w.sc.now)
	if err != nil {
		return nil, false, w.indexError(err)
	}
	if len(owners) != 1 {
		return nil, len(owners) == 0, taken
	}
	f := fetches{record: w.record, reader: w.t.writer, records: w.store.records}
	f.add(owners[0])
	f.start()
	versions := newVersionReads(w.record, w.t, w.store)
	versions.add(owners[0])
	found, err = f.awaitRecord(ctx, 0)
	if err == nil {
		err = versions.fill(ctx, 0, found)
	}
	if err != nil || found != nil {
		return found, false, err
	}
	if w.t.Writes.Count.Load() != w.writesBefore {
		return nil, true, nil
	}
	return nil, false, corrupt(w.Type, owners[0], f.keys[0], "an entry of the index %s names this record, but it is not there", taken.Index)
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
