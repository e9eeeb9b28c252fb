// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// relationReads are the reads of a write that its references need: of the records to which the
// new form refers by fields with the option check, and of those that refer to a record which is
// removed. Nil ones are those of a type without references.
type relationReads struct {
	referred  []referredRead
	referrers []referrerRead
	fault     error    // why they could not be started
	cascade   *cascade // of which the write is a part; nil: of none
}

// referredRead is the read of a record to which the new form refers.
type referredRead struct {
	ref   *erased.Reference
	place *place
	id    []byte
	store *openStore // in which it was looked for; nil: it was not yet
	key   []byte
	value kv.Future[[]byte]
}

// start starts the read in a store. It does not conflict: where the stored form refers to the
// record already, its deletion does not matter.
func (r *referredRead) start(t *transaction, o *openStore) {
	r.store, r.key = o, o.records.Append(nil, r.id)
	r.value = t.writer.Snapshot().Get(r.key)
}

// await reports whether the record exists, and is not deleted.
func (r *referredRead) await(ctx context.Context, t *transaction) (found bool, err error) {
	o, err := t.openStore(ctx, r.place)
	if err != nil || o == nil {
		return false, err
	}
	if o != r.store {
		r.start(t, o)
	}
	if err := t.writer.AddReadConflictKey(r.key); err != nil {
		return false, err
	}
	value, err := r.value.Get(ctx)
	d := r.place.record.Deletion
	if err != nil || value == nil || d == nil {
		return value != nil, err
	}
	v, err := r.place.record.readValue(ctx, t.writer, r.id, r.key, value)
	return err == nil && !d.Is(v), err
}

// start starts the reads in the stores as last known.
func (rs *relationReads) start(w *write) {
	rs.referred, rs.referrers = rs.referred[:0], rs.referrers[:0]
	switch {
	case w.removes():
		rs.fault = rs.startReferrers(w)
	case w.v != nil:
		rs.fault = rs.startReferred(w)
	}
}

// check returns an [ErrDangling] or an [ErrReferred] if the write would leave a reference that
// leads nowhere.
func (rs *relationReads) check(ctx context.Context, w *write) error {
	switch {
	case rs == nil:
		return nil
	case rs.fault != nil:
		return rs.fault
	case !w.removes():
		return rs.checkReferred(ctx, w)
	case w.isNew():
		return nil // there is nothing to remove
	}
	return rs.checkReferrers(ctx, w)
}

// dependOn reports whether the reads depend on records of the write's own type with the keys that a
// batch has written.
func (rs *relationReads) dependOn(w *write, touched map[string]bool) bool {
	if rs == nil || len(touched) == 0 {
		return false
	}
	return slices.ContainsFunc(rs.referrers, func(r referrerRead) bool { return r.place.is(w.place) }) ||
		slices.ContainsFunc(rs.referred, func(r referredRead) bool { return touched[string(r.key)] })
}

// startReferred starts the reads of the records to which the new form refers.
func (rs *relationReads) startReferred(w *write) error {
	for _, ref := range w.Relations.References {
		if err := rs.addReferred(w, ref); err != nil {
			return err
		}
	}
	if w.change != nil { // the stored form is known
		if err := rs.dropKept(w); err != nil {
			return err
		}
	}
	for i := range rs.referred {
		r := &rs.referred[i]
		if known := w.t.lastKnown(r.place); known != nil {
			r.start(w.t, known)
		}
	}
	return nil
}

// addReferred adds the records to which a field of the new form refers, unless the form is that of a
// deleted record.
func (rs *relationReads) addReferred(w *write, ref *erased.Reference) error {
	if !ref.Check || w.Deletion != nil && w.Deletion.Is(w.v) {
		return nil
	}
	ids, err := ref.AppendIDs(nil, w.v)
	if err != nil || len(ids) == 0 {
		return err
	}
	p, err := placeOf(w.t.db, ref.To(), ref.ToArgs(w.place.args))
	for _, id := range ids {
		rs.referred = append(rs.referred, referredRead{ref: ref, place: p, id: id})
	}
	return err
}

// dropKept drops the reads of records to which the stored form refers as well: the record can be
// saved, whatever became of those. But one that is restored refers to them anew.
func (rs *relationReads) dropKept(w *write) error {
	if len(rs.referred) == 0 || w.isNew() {
		return nil
	}
	stored, err := w.decodeRecord(w.old, w.sc.id, w.sc.key)
	if err != nil || w.Deletion != nil && w.Deletion.Is(stored) {
		return err
	}
	kept := map[*erased.Reference][][]byte{}
	for _, ref := range w.Relations.References {
		if kept[ref], err = ref.AppendIDs(nil, stored); err != nil {
			return err
		}
	}
	rs.referred = slices.DeleteFunc(rs.referred, func(r referredRead) bool {
		return slices.ContainsFunc(kept[r.ref], func(id []byte) bool { return bytes.Equal(id, r.id) })
	})
	return nil
}

// checkReferred returns an [ErrDangling] if the new form refers to a record that does not exist, and
// is not itself. Otherwise the transaction conflicts with the deletion of that record.
func (rs *relationReads) checkReferred(ctx context.Context, w *write) error {
	if err := rs.dropKept(w); err != nil {
		return err
	}
	for i := range rs.referred {
		r := &rs.referred[i]
		found, err := r.await(ctx, w.t)
		if err != nil {
			return err
		}
		if !found && (!r.place.is(w.place) || !bytes.Equal(r.id, w.sc.id)) {
			return sentinel.Mark(ErrDangling, fmt.Errorf("persistable: %s %s refers by %s to the %s %s, which does not exist%s: create that before this one, perhaps in the same transaction",
				w.Type, w.idText(), r.ref.Field, r.place.typ, idText(r.id), r.place.inDirectory()))
		}
	}
	return nil
}
