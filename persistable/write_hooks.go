// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
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
	case w.v == nil && (w.Hooks.BeforeDelete != nil || deletesReferrers(w.record)):
		return w.noteHookWrites(func() error { return w.prepareDeletion(ctx) })
	}
	return nil
}

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
	if err != nil {
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
	if w.v == nil || !version && w.Hooks.AfterCommit == nil {
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
