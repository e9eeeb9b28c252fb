// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
)

// putOptions say under which conditions a record is put. The zero value puts it
// whatever is stored.
type putOptions struct {
	mustBeNew, mustExist bool
	mustHaveUnique       bool     // the new form must have a value of a unique index, all of which are readable
	seenVersion          *Version // of the record as the caller has seen it; nil: not compared
	seen                 []byte   // the stored record as the caller has seen it, encoded; nil: not compared
	fence                idFence  // of the record's id, which only a new record needs
}

// write puts one record, or removes one, in a transaction. Its steps are those of run;
// each uses what the steps before it have set.
type write struct {
	*record
	putOptions
	t     *transaction
	place *place
	sc    *scratch
	v     any // the new form; nil: remove the record with the packed id in sc

	withDeleted bool // deleted records are there
	marked      bool // v is the stored record, with the time of its deletion

	deletedBefore map[string]bool // keys of the records that its batch deletes before this one

	change func(v any) error // makes the new form of the stored one; nil but for update

	writesBefore int64 // of the transaction, when the reads were started

	// Set by prepare. The new form's key, value and entries are in sc, with the
	// reads of the unique keys that it claims.
	store   *openStore // nil: there is nothing to remove
	created bool       // the write has created the store
	hooked  bool       // hooks of the record have written in the transaction
	stored  kv.Future[[]byte]
	owner   func(context.Context) error // waits for the check of the id's machine id; nil: not started
	quotas  quotaReads                  // of the quotas that the store is under
	related *relationReads              // nil: the type has no references, and none to it

	buildCheck build.Check       // whether a build has done the record
	version    kv.Future[[]byte] // of the stored form, where records have versions

	// Set by readStored, with the entries of the stored form in sc.before.
	value  []byte        // the first value of the stored form; nil: there is none
	old    format.Record // all of the stored form
	before any           // the stored record, if its entries were gathered

	// Set by completeForm.
	unchanged     bool         // there is nothing to write: the new form has the bytes of the stored one, or there is neither
	entries       index.Change // of the index entries
	versionBefore []byte       // of the record, before the transaction; nil: none, or the transaction has written it
	blobs         blobChange   // of the contents to which the record refers

	// Of the entries in foreign indexes: see mergeForeign.
	formSize int   // of the new form in sc.value, without what is kept of the stored one
	merged   bool  // sc.now was made from a form with fields of the stored one
	unfit    error // why the new form alone cannot be in a foreign index
}

// run prepares the new form, reads what is stored and claimed, checks that the
// write is allowed, and writes. The comment on writeState has the rules of
// the lock.
func (w *write) run(ctx context.Context) error {
	err := w.tryRun(ctx)
	w.spoilPart(err)
	return err
}

// readOnlyError returns the error of a write in a transaction that only reads.
func (w *write) readOnlyError() error {
	return fmt.Errorf("%w: %s: use Transact instead of ReadTransact", ErrReadOnly, w.Type)
}

// tryRun is run for a caller that may go on after an error.
func (w *write) tryRun(ctx context.Context) error {
	if w.t.isReadOnly() {
		return w.readOnlyError()
	}
	if err := w.callHooks(ctx); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil || w.store == nil {
		return err
	}
	err := w.readAndCheck(ctx)
	if lost := w.t.awaitFences(ctx); lost != nil {
		return lost
	}
	w.t.writeLock.Lock()
	defer w.t.writeLock.Unlock()
	if w.t.Writes.Count.Load() != w.writesBefore {
		w.writesBefore = w.t.Writes.Count.Load()
		w.startReads()
		err = w.readAndCheck(ctx)
	}
	if err != nil {
		return err
	}
	defer w.t.Writes.Count.Add(1)
	return w.apply(ctx)
}

// spoilPart makes the transaction fail if the write has failed after it has created
// the store, or after hooks have written.
func (w *write) spoilPart(err error) {
	if err != nil && (w.created || w.hooked) {
		w.t.spoil(err)
	}
}

// prepare opens the store, makes the new form and starts the reads: at first in
// the store as last known, and again if the transaction finds another one.
func (w *write) prepare(ctx context.Context) error {
	w.writesBefore = w.t.Writes.Count.Load()
	known := w.t.lastKnown(w.place)
	var unfit error
	if known != nil {
		if unfit = w.prepareIn(known); unfit == nil {
			value, err := w.stored.Get(ctx) // by then the transaction knows whether known is true
			if err != nil && ctx.Err() != nil {
				return err // it says for how long
			}
			w.stored = kv.Resolved(value, err)
		}
	}
	o, err := w.openStore(ctx)
	if err != nil {
		return err
	}
	switch w.store = o; o {
	case nil:
		return w.checkExistence()
	case known:
		return unfit
	}
	return w.prepareIn(w.store)
}

// openStore opens the store, or creates it if the write may put a new record.
func (w *write) openStore(ctx context.Context) (o *openStore, err error) {
	o, w.created, err = w.t.openToPut(ctx, w.place, w.checkCreation(ctx))
	return o, err
}

// checkCreation returns the check of the write before a store is created for it, nil if it
// creates none.
func (w *write) checkCreation(ctx context.Context) func(*openStore) error {
	if w.v == nil || w.mustExist {
		return nil
	}
	return func(o *openStore) error {
		w.store, w.value = o, nil
		if err := w.makeForm(); err != nil {
			return err
		}
		w.owner = w.fence.fence.StartCheck(w.t.writer)
		return cmp.Or(w.checkSize(), w.checkFence(ctx))
	}
}

// prepareIn makes the new form for a store and starts the reads there.
func (w *write) prepareIn(o *openStore) error {
	w.store = o
	if err := w.makeForm(); err != nil {
		return err
	}
	w.startReads()
	return nil
}

// startReads starts the reads of the stored form, of the fences and of the
// claimed unique keys: one round.
func (w *write) startReads() {
	w.stored = w.t.writer.Get(w.sc.key)
	w.sc.claims.Start(w.t.writer, w.store.maintained, &w.sc.now)
	w.startChecks()
}

// startChecks starts those reads of startReads that are neither of the stored form nor
// of unique keys.
func (w *write) startChecks() {
	w.t.startFences()
	w.owner = w.fence.fence.StartCheck(w.t.writer)
	w.startBuildCheck()
	w.startRelations()
	w.quotas.start(w.t.writer, w.store)
	w.startVersion()
}

// readAndCheck waits for the reads and returns why the write is not allowed.
func (w *write) readAndCheck(ctx context.Context) error {
	if err := w.readStored(ctx); err != nil {
		return err
	}
	if err := w.hideDeleted(ctx); err != nil {
		return err
	}
	if err := w.checkExistence(); err != nil {
		return err
	}
	if err := w.checkFence(ctx); err != nil {
		return err
	}
	if err := w.readEntries(ctx); err != nil {
		return err
	}
	if err := w.keepCreated(); err != nil {
		return err
	}
	if err := cmp.Or(w.checkSeen(), w.awaitVersion(ctx), w.checkVersion(ctx), w.checkMark()); err != nil {
		return err
	}
	if err := w.markDeleted(); err != nil {
		return err
	}
	if err := w.mergeForeign(); err != nil {
		return err
	}
	if err := w.checkClaims(ctx); err != nil {
		return err
	}
	return w.related.check(ctx, w)
}

// idText shows the packed id of the record.
func (w *write) idText() string {
	if w.v != nil {
		return idText(w.appendID(nil, w.v))
	}
	return idText(w.sc.id)
}

// notFound is the error of a write for which the record must exist.
func (w *write) notFound() error {
	return fmt.Errorf("%w: %s %s%s", ErrNotFound, w.Type, w.idText(), w.place.inDirectory())
}

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
	return cmp.Or(w.fence.foreign, fenceError(w.Type, w.sc.id, cmp.Or(w.fence.lost, w.awaitOwner(ctx))))
}

// awaitOwner waits for the check of the id's machine id.
func (w *write) awaitOwner(ctx context.Context) error {
	if w.owner == nil {
		return nil
	}
	return w.owner(ctx)
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

// keepCreated gives the new form the time of the creation of the stored one. If the caller's copy had
// another, the form is made anew, and claims its unique keys in a further round of reads.
func (w *write) keepCreated() (err error) {
	if w.Stamp == nil || w.v == nil || w.isNew() {
		return nil
	}
	stored := w.before
	if stored == nil {
		if stored, err = w.decodeRecord(w.old, w.sc.id, w.sc.key); err != nil {
			return err
		}
	}
	if !w.setCreated(w.v, w.createdOf(stored)) {
		return nil
	}
	if err := w.makeForm(); err != nil {
		return err
	}
	w.sc.claims.Start(w.t.writer, w.store.maintained, &w.sc.now)
	return nil
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

// startRelations starts the reads that the references of the type need.
func (w *write) startRelations() {
	if w.Relations == nil {
		return
	}
	if w.related == nil {
		w.related = &relationReads{}
	}
	w.related.start(w)
}

// startBuildCheck starts the read of whether a build has done the record, if an index
// is being built that counts each record once. The read is of the round of the others.
func (w *write) startBuildCheck() {
	if w.store.undone != nil {
		w.buildCheck = w.store.buildList(w.place).StartCheck(w.t.writer, w.sc.key[len(w.store.records.Prefix):])
	}
}

// maintained returns the indexes that the write maintains: all but the disabled ones,
// and those of a build that counts each record once and has not yet come to this one
// (package build has the rules).
func (w *write) maintained(ctx context.Context) ([]index.Index, error) {
	if w.store.undone == nil {
		return w.store.maintained, nil
	}
	done, err := w.buildCheck.Wait(ctx)
	if err != nil || done {
		return w.store.maintained, err
	}
	return w.store.undone, nil
}

// size is about how many bytes of a transaction the new form takes: keys are in the
// mutation and twice in a conflict range.
func (w *write) size() int {
	size := 3*len(w.sc.key) + len(w.sc.value)
	for i := range w.store.maintained {
		copied := w.copySize(i)
		for n := range w.sc.now.Keys(i) {
			size += 3*len(w.sc.now.Key(i, n)) + len(w.sc.id) + copied
		}
	}
	return size
}

// copySize returns how many bytes each entry of the i-th index copies of the new form.
func (w *write) copySize(i int) int {
	ix := &w.store.maintained[i]
	switch {
	case len(ix.CoverFields) > 0:
		return len(w.sc.now.Record(i, ix, index.Record{}).Value)
	case ix.Cover && len(w.sc.value) <= kv.MaxValueSize:
		return len(w.sc.value)
	}
	return 0
}

// uniqueKeys returns how many keys the new form, or the stored one, has in the i-th
// index if that is unique, else 0.
func (w *write) uniqueKeys(i int, isNew bool) int {
	switch {
	case !w.store.maintained[i].Unique:
		return 0
	case isNew:
		return w.sc.now.Keys(i)
	}
	return w.sc.before.Keys(i)
}
