// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
)

// startVersion starts the read of the stored form's version, unless the transaction has
// written the record: then its version is not known before the commit.
func (w *write) startVersion() {
	x := w.store.versions
	if x == nil || w.sc.id == nil {
		return
	}
	if key := x.versionKey(w.sc.id); !w.t.versions.isOwn(key) {
		w.version = w.t.writer.Get(key)
	}
}

// awaitVersion waits for the read of the version. It cannot be read if the transaction has
// written the record through another Tx, which [DB.In] returned.
func (w *write) awaitVersion(ctx context.Context) error {
	if w.store.versions == nil {
		return nil
	}
	_, err := w.version.Get(ctx)
	return pending(err)
}

// checkVersion compares the version of the stored form with that which the caller has
// seen.
func (w *write) checkVersion(ctx context.Context) error {
	if w.seenVersion == nil {
		return nil
	}
	x := w.store.versions
	if x == nil {
		return w.noVersions()
	}
	if w.t.versions.isOwn(x.versionKey(w.sc.id)) {
		return fmt.Errorf("%w: %s %s", ErrVersionPending, w.Type, w.idText())
	}
	stored, err := w.version.Get(ctx)
	if err != nil || string(stored) == string(w.seenVersion[:]) {
		return err
	}
	if w.t.unsure && !w.isNew() {
		if err := w.keepStored(); err != nil || w.isUnchanged() {
			return err // nil: an earlier attempt has saved it, with the fields that it kept
		}
	}
	return fmt.Errorf("%w: %s %s: read it again", ErrChanged, w.Type, w.idText())
}

// planVersion reads the version before the transaction, and returns why the record cannot
// get a new one.
func (w *write) planVersion(ctx context.Context) (err error) {
	x := w.store.versions
	if w.versionBefore = nil; x == nil {
		return nil
	}
	if !w.t.versions.isOwn(x.versionKey(w.sc.id)) {
		if w.versionBefore, err = w.version.Get(ctx); err != nil {
			return err
		}
	}
	return x.check(w.t, w.sc.id, w.versionBefore)
}

// setVersion makes the commit the last change of the record.
func (w *write) setVersion(deleted bool) {
	if x := w.store.versions; x != nil {
		x.set(w.t, w.sc.id, w.versionBefore, deleted)
	}
}
