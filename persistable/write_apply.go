// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
)

// makeForm makes the new form: its key, value and index entries. It refuses what
// cannot be stored. A write that removes has a key only.
func (w *write) makeForm() (err error) {
	sc := w.sc
	if w.v == nil {
		sc.key = w.store.records.Append(sc.key[:0], sc.id)
		sc.now.Reset()
		return nil
	}
	if err := w.place.checkRecord(w.v); err != nil {
		return err
	}
	if w.hidesDeleted() {
		if err := w.checkMark(); err != nil {
			return err
		}
	}
	sc.id = w.appendID(sc.id[:0], w.v)
	sc.key = w.store.records.Append(sc.key[:0], sc.id)
	if len(sc.key)+format.MaxChunkSuffix > kv.MaxKeySize {
		return &FieldError{Type: w.Type, Field: "ID", Reason: fmt.Sprintf(
			"it makes a key of %d bytes; at most %d are possible: use a shorter id", len(sc.key), kv.MaxKeySize-format.MaxChunkSuffix)}
	}
	if sc.value, err = w.Encode(format.AppendHeader(sc.value[:0], w.t.token), w.v); err != nil {
		return err
	}
	err = w.gatherEntries(&sc.now, w.store, sc.id, w.v)
	w.gatherUnmerged()
	if err != nil || !w.mustHaveUnique {
		return err
	}
	return w.checkUnique()
}

// apply writes the new form in place of the stored one, and the difference of
// their index entries. The lock of the transaction is held.
func (w *write) apply(ctx context.Context) error {
	if err := w.completeForm(ctx); err != nil {
		return err
	}
	w.writeForm()
	return w.checkReadBack(ctx)
}

// completeForm does all of the write that can fail: it gives the new form what it keeps of
// the stored one, returns why it is too large, and reads what the change of the index
// entries depends on. It writes nothing.
func (w *write) completeForm(ctx context.Context) error {
	if w.v != nil {
		if err := w.keepStored(); err != nil {
			return err
		}
	}
	if w.unchanged = w.isUnchanged(); w.unchanged {
		return w.readKeptVersion(ctx)
	}
	if err := cmp.Or(w.checkSize(), w.checkQuotas(ctx)); err != nil {
		return err
	}
	if err := w.blobs.plan(ctx, w); err != nil {
		return err
	}
	if err := w.planIndexes(ctx); err != nil {
		return err
	}
	return w.planVersion(ctx)
}

// writeForm writes what completeForm has completed. It cannot fail: a transaction whose
// function goes on after the error of a write has all of it or nothing. If the new form and
// the stored one have the same bytes, they have the same entries, and writeForm writes
// nothing; that the transaction has read the record remains.
func (w *write) writeForm() {
	defer w.noteWritten()
	if w.unchanged {
		return
	}
	w.countUsage()
	w.blobs.write(w)
	if w.v == nil {
		w.clearRecord()
		return
	}
	is := w.setRecord()
	w.t.Writes.Fresh.NoteRecord(w.sc.key, w.isNew(), w.store.indexes, &w.sc.before, &w.sc.now)
	w.maintainIndexes(is)
	switch {
	case w.isNew():
		w.t.noteCreated(w.sc.key)
	case w.marked:
		w.t.noteMarked(w.sc.key)
	}
}

// checkReadBack returns an error if the transaction does not read what it has written, because its
// program has set an option: a further write would maintain the index entries of the stored
// form, and leave those of this one. It checks the first write in a transaction that the program
// can set options of; the engine answers from memory. The lock of the transaction is held.
func (w *write) checkReadBack(ctx context.Context) error {
	written := w.firstValue()
	if w.t.seesWrites || !w.t.lent.Load() || w.unchanged || bytes.Equal(written, w.value) {
		return nil
	}
	for _, reader := range []kv.ReadTransaction{w.t.writer, w.t.writer.Snapshot()} {
		value, err := reader.Get(w.sc.key).Get(ctx)
		if err == nil && !bytes.Equal(value, written) {
			err = errUnseenWrites
		}
		if err != nil {
			w.t.spoil(err)
			return err
		}
	}
	w.t.seesWrites = true
	return nil
}

// errUnseenWrites is the error of writes in a transaction with an option by which reads do not see
// its writes.
var errUnseenWrites = kv.NewError(kv.CodeClientInvalidOperation, "persistable: no store can write in a transaction that does not read its own writes: "+
	"do not set OptionReadYourWritesDisable or OptionSnapshotRYWDisable")

// firstValue returns what the write sets under the key of the record: nil if it removes it.
func (w *write) firstValue() []byte {
	if w.v == nil {
		return nil
	}
	return w.sc.value[:min(len(w.sc.value), kv.MaxValueSize)]
}

// keepStored takes over what the new form keeps of the stored one: the token of
// its creation, and the fields that this program does not know.
func (w *write) keepStored() (err error) {
	w.sc.value = w.sc.value[:w.formSize] // of another read of the stored form
	if w.isNew() {
		format.SetToken(w.sc.value, w.t.token)
		return nil
	}
	format.SetToken(w.sc.value, w.old.Token)
	if w.sc.value, err = wire.MergeUnknown(w.sc.value, format.HeaderSize, w.old.Payload, w.Known); err != nil {
		return recordError(w.Type, idText(w.sc.id), w.sc.key, err)
	}
	return nil
}

// isUnchanged reports whether the new form has the bytes of the stored one, or there is
// neither. It is called after keepStored.
func (w *write) isUnchanged() bool {
	if w.v == nil || w.isNew() {
		return w.v == nil && w.isNew()
	}
	return bytes.Equal(w.sc.value[format.HeaderSize:], w.old.Payload)
}

// setRecord writes the new form and returns what index entries need of it.
func (w *write) setRecord() index.Record {
	if len(w.sc.value) > kv.MaxValueSize {
		w.setChunks()
		return index.Record{ID: w.sc.id}
	}
	w.t.writer.Set(w.sc.key, w.sc.value)
	w.clearChunks()
	return index.Record{ID: w.sc.id, Value: w.sc.value}
}

// maxRecordSize leaves room for the index entries of a record in a transaction.
const maxRecordSize = kv.MaxTransactionSize - 10*kv.MaxValueSize

// checkSize returns a *[RecordError] if the new form does not fit into a transaction.
func (w *write) checkSize() error {
	if w.v == nil || len(w.sc.value) <= maxRecordSize {
		return nil
	}
	return &RecordError{
		Type: w.Type, ID: idText(w.sc.id), Reason: fmt.Sprintf("it has %d bytes; at most %d are possible", len(w.sc.value), maxRecordSize),
		Remedy: "split it into several records",
	}
}

// setChunks writes a new form that does not fit into one value: the first value
// with the header, and the rest in chunks under keys of their own.
func (w *write) setChunks() {
	w.clearChunks()
	first, rest := format.Split(w.sc.value)
	w.t.writer.Set(w.sc.key, first)
	for n := 1; len(rest) > 0; n++ {
		size := min(len(rest), kv.MaxValueSize)
		w.t.writer.Set(format.AppendChunk(w.sc.key, n), rest[:size])
		rest = rest[size:]
	}
}

// clearRecord removes the stored form and its index entries.
func (w *write) clearRecord() {
	w.t.writer.Clear(w.sc.key)
	w.clearChunks()
	w.maintainIndexes(index.Record{})
	w.t.noteDeleted(w.sc.key)
}

// clearChunks clears the chunks of the stored form, if it has any.
func (w *write) clearChunks() {
	if w.hasChunks() {
		w.t.writer.ClearRange(format.ChunkRange(w.sc.key))
	}
}

// hasChunks reports whether the stored form has chunks.
func (w *write) hasChunks() bool { return !w.isNew() && w.old.Chunks > 0 }

// planIndexes plans the difference between the index entries of the stored form and those
// of the new form.
func (w *write) planIndexes(ctx context.Context) error {
	indexes, err := w.maintained(ctx)
	if err == nil {
		w.entries, err = index.Plan(ctx, w.t.writer, indexes, &w.sc.before, &w.sc.now)
	}
	return err
}

// maintainIndexes writes the difference that planIndexes has planned. is is the new form.
func (w *write) maintainIndexes(is index.Record) {
	was := index.Record{ID: w.sc.id}
	if !w.hasChunks() {
		was.Value = w.value
	}
	w.sc.entry = w.entries.Write(was, is, w.sc.entry)
	w.setVersion(w.v == nil)
}

// checkQuotas reads the usage of each tenant with a quota, and returns an [ErrQuota]
// if the write would make it too much.
func (w *write) checkQuotas(ctx context.Context) error {
	w.quotas.start(w.t.writer, w.store)
	if err := w.quotas.await(ctx); err != nil {
		return err
	}
	for i := range w.quotas.tenants {
		if err := w.quotas.tenants[i].check(w.Type, w.moreUsage()); err != nil && !w.marked {
			return err
		}
	}
	return nil
}

// countUsage adds what the write changes to the usage of each tenant with a quota.
func (w *write) countUsage() {
	for i := range w.quotas.tenants {
		if r := &w.quotas.tenants[i]; r.counts(w.sc.key) {
			r.keys.AddUsage(w.t.writer, w.moreUsage())
		}
	}
}

// moreUsage returns what the write adds to the usage; negative numbers for less.
func (w *write) moreUsage() (u tenancy.Usage) {
	if !w.isNew() {
		u.Records--
		u.Bytes -= int64(format.HeaderSize + len(w.old.Payload))
	}
	if w.v != nil {
		u.Records++
		u.Bytes += int64(len(w.sc.value))
	}
	return u
}

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
func (w *write) planVersion(ctx context.Context) error {
	if err := w.readVersionBefore(ctx); err != nil || w.store.versions == nil {
		return err
	}
	return w.store.versions.check(w.t, w.sc.id, w.versionBefore)
}

// readKeptVersion reads the version that a record keeps which is not written, for its field.
func (w *write) readKeptVersion(ctx context.Context) error {
	if w.v == nil || w.Version == nil {
		return nil
	}
	err := w.readVersionBefore(ctx)
	if kv.CodeOf(err) == kv.CodeAccessedUnreadable { // another Tx of the transaction has written it
		return nil
	}
	return err
}

// readVersionBefore reads the version before the transaction.
func (w *write) readVersionBefore(ctx context.Context) (err error) {
	w.versionBefore = nil
	if x := w.store.versions; x != nil && !w.t.versions.isOwn(x.versionKey(w.sc.id)) {
		w.versionBefore, err = w.version.Get(ctx)
	}
	return err
}

// setVersion makes the commit the last change of the record.
func (w *write) setVersion(deleted bool) {
	if x := w.store.versions; x != nil {
		x.set(w.t, w.sc.id, w.versionBefore, deleted)
	}
}

// gatherUnmerged adds the entries of the new form in foreign indexes, as if nothing
// were stored. They are right for a new record; for others mergeForeign makes them
// again where needed, and an error that was premature is forgotten.
func (w *write) gatherUnmerged() {
	w.formSize, w.merged, w.unfit = len(w.sc.value), false, nil
	if w.store.hasForeign() {
		w.unfit = w.gatherForeign(&w.sc.now, w.store, w.sc.id, w.sc.key, w.v, w.sc.value[format.HeaderSize:])
	}
}

// mergeForeign merges the stored form's unknown fields into the new form before the
// claims are checked, and then makes the entries in foreign indexes again: those
// indexes are mostly of such fields. A foreign unique index costs one more round of
// reads then, because its keys were not known before.
func (w *write) mergeForeign() error {
	if w.v == nil || !w.store.hasForeign() {
		return nil
	}
	if err := w.keepStored(); err != nil {
		return err
	}
	merged := len(w.sc.value) > w.formSize
	if !merged && !w.merged {
		return w.unfit
	}
	w.merged = merged
	if err := w.gatherBoth(&w.sc.now, w.store, w.sc.id, w.sc.key, w.v, w.sc.value[format.HeaderSize:]); err != nil {
		return err
	}
	if w.store.foreign.hasUnique {
		w.sc.claims.Start(w.t.writer, w.store.maintained, &w.sc.now)
	}
	return nil
}
