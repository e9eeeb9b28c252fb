// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// readStored reads the first value of the stored form.
func (w *write) readStored(ctx context.Context) (err error) {
	w.value, err = w.stored.Get(ctx)
	return err
}

// isNew reports whether there is no stored form.
func (w *write) isNew() bool { return w.value == nil }

// checkExistence returns an error if a stored form is there and must not be, or
// the other way round.
func (w *write) checkExistence() error {
	switch {
	case w.isNew() && w.mustExist && !w.isDone():
		return w.notFound()
	case !w.isNew() && w.mustBeNew:
		return fmt.Errorf("%w: %s %s", ErrExists, w.Type, w.idText())
	}
	return nil
}

// isDone reports whether what a conditional write finds may be the work of an
// earlier attempt, whose acknowledgement was lost: the record is gone, or has the
// new form.
func (w *write) isDone() bool {
	return w.t.unsure && w.seen != nil && w.isNew() == (w.v == nil)
}

// checkFence returns an error if the record is new, and another database has made its id,
// or another process may own the machine id.
func (w *write) checkFence(ctx context.Context) error {
	if !w.isNew() {
		return nil
	}
	return cmp.Or(w.fence.foreign, fenceError(w.Type, w.sc.id, cmp.Or(w.fence.lost, w.owner.Wait(ctx))))
}

// readEntries reads the rest of the stored form and gathers its index entries.
func (w *write) readEntries(ctx context.Context) (err error) {
	w.sc.before.Reset()
	if w.before = nil; w.isNew() {
		return nil
	}
	if w.old, err = w.readWhole(ctx, w.t.writer, w.sc.id, w.sc.key, w.value); err != nil || len(w.store.maintained) == 0 {
		return err
	}
	if w.before, err = w.decodeRecord(w.old, w.sc.id, w.sc.key); err != nil {
		return err
	}
	return w.gatherBoth(&w.sc.before, w.store, w.sc.id, w.sc.key, w.before, w.old.Payload)
}

// checkSeen compares the stored record with what the caller has seen, both as
// this program encodes them.
func (w *write) checkSeen() error {
	if w.seen == nil || w.isNew() {
		return nil
	}
	v, err := w.decodeRecord(w.old, w.sc.id, w.sc.key)
	if err != nil {
		return err
	}
	stored, err := w.Encode(nil, v)
	if err != nil || bytes.Equal(stored, w.seen) || w.isDone() && bytes.Equal(stored, w.sc.value[format.HeaderSize:w.formSize]) {
		return err
	}
	return fmt.Errorf("%w: %s %s: read it again", ErrChanged, w.Type, idText(w.sc.id))
}

// checkClaims returns an error if another record owns a unique value of the new
// form.
func (w *write) checkClaims(ctx context.Context) error {
	return w.indexError(w.sc.claims.Check(ctx, w.store.maintained, &w.sc.now, &w.sc.before, w.sc.id))
}
