// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// repairPart mends the faults of a batch.
func (v *verifier) repairPart(ctx context.Context, part *verifyPart) error {
	if !v.options.Repair {
		return nil
	}
	for left := part.repairs; len(left) > 0; {
		batch := left[:min(len(left), maxRepairs)]
		left = left[len(batch):]
		mended := 0
		err := v.place.db.transact(ctx, func(t *transaction) error {
			mended = 0
			o, err := t.openStoreToWrite(ctx, v.place)
			if err != nil || o == nil {
				return err
			}
			for _, r := range batch {
				done, err := v.mend(ctx, t, o, r)
				switch {
				case kv.CodeOf(err) != 0 || ctx.Err() != nil:
					return err
				case err == nil && done: // else a record cannot be decoded
					mended++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		part.Repaired += mended
	}
	return nil
}

// mend makes one entry agree with its record, whatever both are by now. It reports
// whether they agree then. The transaction conflicts with every change of them.
func (v *verifier) mend(ctx context.Context, t *transaction, o *openStore, r repair) (done bool, err error) {
	ix := &o.indexes[r.index]
	if ix.State != index.Readable {
		return false, nil
	}
	if ix.Kind == index.Version {
		err := v.mendVersion(ctx, t, o, r)
		return err == nil, err
	}
	value, err := t.writer.Get(r.key).Get(ctx)
	if err != nil {
		return false, err
	}
	want, has, err := v.wantedEntry(ctx, t, o, r)
	switch {
	case err != nil || has && value != nil && bytes.Equal(value, want): // nil: no entry
		return err == nil, err
	case !has:
		return v.removeEntry(ctx, t, o, r, value)
	}
	if foreign, err := v.isOwnedByOther(ctx, t, o, r, value); foreign || err != nil {
		return false, err
	}
	return true, setEntry(ctx, t, ix, r.key, want)
}

// wantedEntry returns the value that an entry of the record must have, and whether the
// record has the entry.
func (v *verifier) wantedEntry(ctx context.Context, t *transaction, o *openStore, r repair) (want []byte, has bool, err error) {
	if r.id == nil {
		return nil, false, nil
	}
	ix := &o.indexes[r.index]
	set, record, err := v.readEntries(ctx, t, o, r.id)
	if err != nil || set == nil || !set.Has(r.index, r.key) {
		return nil, false, err
	}
	return ix.AppendValue(nil, set.Record(r.index, ix, record)), true, nil
}

// readEntries reads a record and returns its entries; nil if there is no such record.
func (v *verifier) readEntries(ctx context.Context, t *transaction, o *openStore, id []byte) (*index.Set, index.Record, error) {
	key := o.records.Append(nil, id)
	value, err := t.writer.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, index.Record{}, err
	}
	whole, err := v.record.readWhole(ctx, t.writer, id, key, value)
	if err != nil {
		return nil, index.Record{}, err
	}
	decoded, err := v.record.decodeRecord(whole, id, key)
	if err != nil {
		return nil, index.Record{}, err
	}
	r := index.Record{ID: id, Value: value}
	if whole.Chunks > 0 {
		r.Value = nil
	}
	set := new(index.Set)
	return set, r, v.record.gatherEntries(set, o, id, decoded)
}

// removeEntry removes an entry that the record does not have, unless it is by now the
// entry of another record.
func (v *verifier) removeEntry(ctx context.Context, t *transaction, o *openStore, r repair, value []byte) (done bool, err error) {
	if value == nil {
		return true, nil
	}
	foreign, err := v.isOwnedByOther(ctx, t, o, r, value)
	if err != nil {
		return false, err
	}
	if foreign {
		return true, nil
	}
	return true, clearEntry(ctx, t, &o.indexes[r.index], r.key)
}

// isOwnedByOther reports whether the value of a unique entry names another record that
// has the entry.
func (v *verifier) isOwnedByOther(ctx context.Context, t *transaction, o *openStore, r repair, value []byte) (bool, error) {
	ix := &o.indexes[r.index]
	if !ix.Unique || value == nil {
		return false, nil
	}
	owner, _, err := index.SplitUnique(ix.Definition, r.key, value)
	if err != nil || bytes.Equal(owner, r.id) {
		return false, nil // a damaged value names no owner
	}
	set, _, err := v.readEntries(ctx, t, o, owner)
	return set != nil && set.Has(r.index, r.key), err
}
