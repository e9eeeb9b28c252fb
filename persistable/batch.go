// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// batch is writes of one transaction that share their rounds of reads.
type batch struct {
	source  *source
	t       *transaction
	store   *openStore
	memory  *batchMemory
	writes  []write
	touched map[string]bool // keys of records and unique entries that the batch has written
	bytes   int             // about what is read and written
	isFull  bool            // one more record would be too much
	created bool            // the batch has created the store
	deleted map[string]bool // keys of the records that it deletes, if something is done before
	hooked  bool            // hooks of the records have written in the transaction
	fault   error           // why the write after those that were applied cannot be applied
}

// batchMemory is memory that batches use one after the other.
type batchMemory struct {
	writes  []write
	touched map[string]bool
	keys    [][]byte
	reads   []kv.Future[[]byte]
	spans   spans
}

// newBatch returns a batch that has the memory until its release.
func newBatch(s *source, t *transaction, m *batchMemory) batch {
	return batch{source: s, t: t, memory: m, writes: m.writes[:0], touched: m.touched}
}

// open opens the store, or creates it if check is not nil; see openOrCreateStore. It
// returns false if there is none.
func (b *batch) open(ctx context.Context, check func(*openStore) error) (found bool, err error) {
	b.store, b.created, err = b.t.openToPut(ctx, b.source.place, check)
	return b.store != nil, err
}

// newWrite returns the write of a record, which is not added yet.
func (b *batch) newWrite(ctx context.Context, v any, how putOptions) (w write, err error) {
	if !how.mustExist {
		how.fence, err = b.source.db.ids.fenceOf(ctx, b.source.record, v)
	}
	w = b.source.newWrite(b.t, getScratch(), how)
	w.v, w.store = v, b.store
	return w, err
}

// checkCreation returns the check before the store is created for a batch that begins with
// a record, nil if the batch creates none.
func (b *batch) checkCreation(ctx context.Context, v any, how putOptions) func(*openStore) error {
	if how.mustExist {
		return nil
	}
	if b.source.record.Hooks.InTransaction() { // which may set what a form needs
		return func(*openStore) error { return nil }
	}
	return func(o *openStore) error {
		w, err := b.newWrite(ctx, v, how)
		defer w.sc.release()
		if err != nil {
			return err
		}
		return w.checkCreation(ctx)(o)
	}
}

// addRecord adds the write of a record. It does not add one that does not fit into
// limit bytes with those before, or that cannot be stored, which is the batch's fault.
func (b *batch) addRecord(ctx context.Context, v any, how putOptions, limit int) (added bool) {
	var w write
	if w, b.fault = b.newWrite(ctx, v, how); b.fault == nil {
		b.fault = w.makeForm()
	}
	b.isFull = b.fault == nil && len(b.writes) > 0 && b.bytes+w.size() > limit
	if w.Hooks.InTransaction() && !b.isFull { // hooks may mend the fault
		if b.fault = b.callHooks(ctx, &w); b.fault == nil {
			b.fault = w.makeForm()
		}
	}
	if b.fault != nil || b.isFull {
		w.sc.release()
		return false
	}
	b.bytes += w.size()
	b.writes = append(b.writes, w)
	return true
}

// addDeletion adds the removal of a record.
func (b *batch) addDeletion(ctx context.Context, id []byte) error {
	b.writes = append(b.writes, b.source.newWrite(b.t, getScratch(), putOptions{}))
	w := &b.writes[len(b.writes)-1]
	w.store = b.store
	w.sc.id = append(w.sc.id[:0], id...)
	w.deletedBefore = b.deleted
	if err := w.makeForm(); err != nil || b.deleted[string(w.sc.key)] { // the list has it twice
		return err
	}
	if err := b.callHooks(ctx, w); err != nil {
		if b.hooked {
			b.t.spoil(err)
		}
		return err
	}
	if w.preparesDeletion() {
		b.noteDeletion(w)
	}
	return nil
}

func (b *batch) noteDeletion(w *write) {
	if b.deleted == nil {
		b.deleted = map[string]bool{}
	}
	b.deleted[string(w.sc.key)] = true
}

// callHooks calls the hooks of the record of w that take the transaction.
func (b *batch) callHooks(ctx context.Context, w *write) error {
	err := w.callHooks(ctx)
	b.hooked = b.hooked || w.hooked
	return err
}

// release gives the memory of the writes back.
func (b *batch) release() {
	for i := range b.writes {
		b.writes[i].sc.release()
	}
	m := b.memory
	clear(b.writes)
	clear(b.touched)
	clear(m.keys)
	clear(m.reads)
	m.spans.release()
	m.writes, m.touched = b.writes[:0], b.touched
}

// run reads what all writes need, in one round, then checks and applies one after the
// other. At the first write that is refused it stops: that is the batch's fault, and
// run returns how many were applied.
func (b *batch) run(ctx context.Context) (applied int, err error) {
	if len(b.writes) == 0 {
		return 0, nil
	}
	before := b.t.Writes.Count.Load()
	if err := b.startReads(ctx); err != nil {
		return 0, err
	}
	b.t.writeLock.Lock()
	defer b.t.writeLock.Unlock()
	if b.t.Writes.Count.Load() != before {
		if err := b.startReads(ctx); err != nil {
			return 0, err
		}
	}
	defer b.t.Writes.Count.Add(1)
	applied, err = b.applyAll(ctx)
	if err != nil && applied > 0 {
		b.t.spoil(err)
	}
	return applied, err
}

// applyAll checks and applies one write after the other, up to one that is refused.
// The lock of the transaction is held.
func (b *batch) applyAll(ctx context.Context) (applied int, err error) {
	for i := range b.writes {
		w := &b.writes[i]
		if err := b.check(ctx, w); isFault(err) {
			b.fault = err
			return i, nil
		} else if err != nil {
			return i, err
		}
		w.writeForm()
		if err := w.checkReadBack(ctx); err != nil {
			return i, err
		}
		b.noteTouched(w)
	}
	return len(b.writes), nil
}

// check returns why w cannot be applied after the writes before it. It reads again
// what these may have changed.
func (b *batch) check(ctx context.Context, w *write) error {
	if b.isTouched(w) {
		w.startReads()
	}
	if err := w.readAndCheck(ctx); err != nil {
		return err
	}
	return w.completeForm(ctx)
}

// startReads starts the reads of all writes and waits for the records, so that most
// of the rest has arrived, too, before the transaction is locked.
func (b *batch) startReads(ctx context.Context) error {
	if err := b.startMany(ctx); err != nil {
		return err
	}
	for i := range b.writes {
		w := &b.writes[i]
		if err := w.readStored(ctx); err != nil {
			return err
		}
		b.bytes += len(w.value)
	}
	return b.t.awaitFences(ctx)
}

// startMany does what startReads of each write does, with few calls of the engine for the
// stored forms and the unique keys of all.
func (b *batch) startMany(ctx context.Context) (err error) {
	m := b.memory
	m.keys = m.keys[:0]
	for i := range b.writes {
		w := &b.writes[i]
		m.keys = append(m.keys, w.sc.key)
		m.keys = w.sc.claims.AppendKeys(m.keys, w.store.maintained, &w.sc.now)
		w.startChecks()
	}
	if m.spans.enabled && b.writes[0].mustBeNew {
		m.spans.begin(b.t.writer, b.store, m.keys)
	}
	if m.reads, err = m.spans.startReads(ctx, m.reads[:0], b.t.writer, m.keys); err != nil {
		return err
	}
	reads := m.reads
	for i := range b.writes {
		w := &b.writes[i]
		w.stored = reads[0]
		reads = w.sc.claims.TakeReads(reads[1:])
	}
	return nil
}

// isFault reports whether an error is that of a record, not one of the engine, of the
// context or of a lease, which concern the whole transaction.
func isFault(err error) bool {
	return err != nil && kv.CodeOf(err) == 0 && !errors.Is(err, kv.ErrClosed) && !errors.Is(err, ErrFenced) && !errors.Is(err, leasefdb.ErrLeaseLost) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// isTouched reports whether the batch has written a key that w has read.
func (b *batch) isTouched(w *write) bool {
	if b.touched[string(w.sc.key)] {
		return true
	}
	for i := range b.store.maintained {
		for n := range w.uniqueKeys(i, true) {
			if b.touched[string(w.sc.now.Key(i, n))] {
				return true
			}
		}
	}
	return w.related.dependOn(w, b.touched)
}

// noteTouched notes the keys that w has written and another write may have read.
func (b *batch) noteTouched(w *write) {
	if b.touched == nil {
		b.touched = map[string]bool{}
	}
	b.touched[string(w.sc.key)] = true
	for i := range b.store.maintained {
		for n := range w.uniqueKeys(i, true) {
			b.touched[string(w.sc.now.Key(i, n))] = true
		}
		for n := range w.uniqueKeys(i, false) {
			b.touched[string(w.sc.before.Key(i, n))] = true
		}
	}
}

// runBefore is run for a batch that may have a fault already, after the writes that
// were added.
func (b *batch) runBefore(ctx context.Context) (applied int, err error) {
	fault := b.fault
	if b.fault = nil; fault != nil && !isFault(fault) { // a hook has it from the transaction
		return 0, fault
	}
	if applied, err = b.run(ctx); err == nil && b.fault == nil {
		b.fault = fault
	}
	if why := cmp.Or(err, b.fault); why != nil && (b.hooked || b.created && applied == 0) {
		b.t.spoil(why)
	}
	if err == nil && b.fault != nil && b.hooked {
		err = &hookedFault{applied, b.fault}
	}
	return applied, err
}

// hookedFault is the fault of a record in a batch of which hooks have written in the transaction,
// those of the record and of others after it, too: the transaction cannot be committed. One with
// the records before that one can.
type hookedFault struct {
	before int
	err    error
}

// Error implements error.
func (e *hookedFault) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *hookedFault) Unwrap() error { return e.err }

// notFound is the error of a record that must exist in a store that does not.
func (b *batch) notFound(v any) error {
	w := write{record: b.source.record, place: b.source.place, sc: getScratch()}
	defer w.sc.release()
	w.sc.id = b.source.record.appendID(w.sc.id[:0], v)
	return w.notFound()
}

// fit returns how many records the next transaction may have, if this one was allowed
// to have size: fewer if these were too large.
func (b *batch) fit(size, limit int) int {
	switch {
	case b.isFull:
		return len(b.writes)
	case b.bytes > 2*limit:
		return max(1, len(b.writes)*limit/b.bytes)
	}
	return size
}

// isUnchanged reports whether the last write of each record would leave the stored form as it
// is. The reads are started.
func (b *batch) isUnchanged(ctx context.Context) (bool, error) {
	seen := map[string]bool{}
	for i := range b.writes {
		w := &b.writes[len(b.writes)-1-i]
		if seen[string(w.sc.key)] {
			continue
		}
		seen[string(w.sc.key)] = true
		if err := w.readEntries(ctx); err != nil {
			return false, err
		}
		if err := w.keepStored(); err != nil || !w.isUnchanged() {
			return false, err
		}
	}
	return true, nil
}
