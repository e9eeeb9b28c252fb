// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/sentinel"
)

// callHooks calls the hooks of the record that take the transaction. What they write is a part of
// this write: if it fails after them, the transaction cannot be committed.
func (w *write) callHooks(ctx context.Context) error {
	if w.Relations != nil {
		w.related = cascadeOf(ctx)
	}
	switch {
	case w.v != nil && w.Hooks.InTransaction():
		return w.noteHookWrites(func() error { return w.callHooksIn(ctx, w.t, w.v, w.mustBeNew) })
	case w.v == nil && w.preparesDeletion():
		return w.noteHookWrites(func() error { return w.prepareDeletion(ctx) })
	}
	return nil
}

// preparesDeletion reports whether something is done before records of the type are removed.
func (r *record) preparesDeletion() bool { return r.Hooks.BeforeDelete != nil || deletesReferrers(r) }

// prepareDeletion calls the hook before the removal of the record, and deletes the records that are
// deleted with it, if it is there.
func (w *write) prepareDeletion(ctx context.Context) error {
	o, err := w.t.openStoreToWrite(ctx, w.place)
	if err != nil || o == nil {
		return err
	}
	key := o.records.Append(nil, w.sc.id)
	value, err := w.t.writer.Get(key).Get(ctx)
	if err != nil || value == nil {
		return err
	}
	v, err := w.readValue(ctx, w.t.writer, w.sc.id, key, value)
	if err != nil || w.hidesDeleted() && w.Deletion.Is(v) {
		return err
	}
	if w.Hooks.BeforeDelete != nil {
		if err := w.callHook(ctx, Tx{t: w.t}, "BeforeDelete", nil, w.Hooks.BeforeDelete, v); err != nil {
			return err
		}
	}
	if !deletesReferrers(w.record) {
		return nil
	}
	return w.related.deleteReferrers(ctx, w, key)
}

// removes reports whether the write deletes the record, in whatever way.
func (w *write) removes() bool { return w.change == nil && (w.v == nil || w.marked) }

// hidesDeleted reports whether a deleted record counts as none, and a deletion sets its field.
func (w *write) hidesDeleted() bool { return w.Deletion != nil && !w.withDeleted }

// hideDeleted lets a stored record that is deleted count as none; but a put, which would write over it,
// returns an [ErrDeleted].
func (w *write) hideDeleted(ctx context.Context) error {
	if !w.hidesDeleted() {
		return nil
	}
	if w.marked { // by an earlier check
		w.v, w.marked = nil, false
		w.sc.now.Reset()
	}
	if w.isNew() {
		return nil
	}
	v, err := w.readValue(ctx, w.t.writer, w.sc.id, w.sc.key, w.value)
	if err != nil || !w.Deletion.Is(v) {
		return err
	}
	if w.v != nil && !w.mustExist {
		return w.deletedError()
	}
	w.value = nil
	return nil
}

// deletedError is the error of a write over a deleted record.
func (w *write) deletedError() error {
	err := sentinel.Mark(ErrDeleted, fmt.Errorf("persistable: %s %s%s was deleted: to restore it, set %s to its zero value in an Update of the store of WithDeleted; Delete of that store removes it for good",
		w.Type, w.idText(), w.place.inDirectory(), w.Deletion.Field))
	if w.mustBeNew {
		return sentinel.Mark(ErrExists, err)
	}
	return err
}

// markDeleted makes the new form of a record that is deleted, and stays: the stored one with the
// time. Its entries are some of those that the stored form has.
func (w *write) markDeleted() error {
	if !w.hidesDeleted() || !w.removes() || w.isNew() {
		return nil
	}
	v, err := w.decodeRecord(w.old, w.sc.id, w.sc.key)
	if err != nil {
		return err
	}
	w.Deletion.Set(v, time.Now().UTC().Round(0))
	w.v, w.marked = v, true
	if err := w.makeForm(); err != nil {
		return err
	}
	w.sc.claims.StartNew(w.t.writer, w.store.maintained, &w.sc.now, &w.sc.before)
	return nil
}

// checkMark returns a *[FieldError] if a put deletes a record by its field: what a deletion checks would
// not be checked.
func (w *write) checkMark() error {
	if w.Deletion == nil || w.v == nil || w.marked || !w.Deletion.Is(w.v) {
		return nil
	}
	if w.withDeleted {
		if w.isNew() {
			return nil
		}
		stored, err := w.decodeRecord(w.old, w.sc.id, w.sc.key)
		if err != nil || w.Deletion.Is(stored) {
			return err
		}
	}
	return &FieldError{Type: w.Type, Field: w.Deletion.Field, Reason: "it is the time of the deletion, and only Delete sets it: call Delete; " +
		"a record that is deleted already is written by the store of WithDeleted"}
}

// noteHookWrites notes whether hooks have written, or may have: a program that has the engine's
// transaction can write at any time.
func (w *write) noteHookWrites(call func() error) error {
	defer w.t.db.functions.enter()()
	before := w.t.Writes.Count.Load()
	err := call()
	w.hooked = w.hooked || w.t.Writes.Count.Load() != before || w.t.lent.Load()
	return err
}

// noteWritten notes that the write has made its new form the stored one, or found it so.
func (w *write) noteWritten() {
	version := w.Version != nil && w.store.versions != nil
	if w.removes() || !version && w.Hooks.AfterCommit == nil {
		return
	}
	r := writtenRecord{record: w.record, v: w.v, key: slices.Clone(w.sc.key), version: version, changed: !w.unchanged}
	if version {
		key := w.store.versions.versionKey(w.sc.id)
		if w.unchanged && !w.t.versions.isOwn(key) {
			_ = w.record.setVersion(w.v, w.versionBefore) // its length was checked
			return
		}
		r.number, _ = w.t.versions.number(key)
	}
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.t.written.list = append(w.t.written.list, r)
}
