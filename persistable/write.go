// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// putting is how a record is put: as a new one only, over one that is there, over
// one that is as the caller has seen it, or whatever is there before; and
// under which fence, if it is new.
type putting struct {
	mustBeNew, mustExist bool
	seen                 []byte // what the caller has seen, encoded; nil if that does not matter
	fence                idFence
}

// put writes a record. All reads, of the stored record, of the unique keys and
// of fences, are one round.
func (r *record) put(ctx context.Context, t *transaction, p *place, v any, how putting) error {
	sc := getScratch()
	defer sc.free()
	w := write{record: r, t: t, sc: sc, putting: how}
	if t.writer == nil {
		return ErrReadOnly
	}
	before := t.writes.Load()
	open := t.openForWriting
	if how.mustExist {
		open = t.openForDeleting
	}
	o, unfit, err := openAhead(ctx, t, p, open, func(o *openStore) error {
		w.o = o
		if err := r.prepare(sc, o, p, t.token, v); err != nil {
			return err
		}
		w.start()
		return nil
	}, func(ctx context.Context, unfit error) error {
		if unfit == nil {
			w.was = settled(ctx, w.was)
		}
		return unfit
	})
	if err = cmp.Or(err, unfit); err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("%w: %s %s%s", ErrNotFound, r.Type, idText(r.appendID(nil, v)), p.in())
	}
	return w.run(ctx, before, w.look, w.put)
}

// write is the write of one record, or its removal.
type write struct {
	*record
	putting
	t       *transaction
	o       *openStore
	sc      *scratch
	started bool              // the reads of the next look are under way:
	was     kv.Future[[]byte] // of the stored form's first value, and those of sc.claims
	owner   leasefdb.Checking // of who owns the machine id
	value   []byte            // the first value of the stored form; nil if there is none
	old     stored            // all of it
}

// run looks at what is stored and then changes it. Looks of several goroutines
// with one transaction overlap; if another one has written since the look
// began, when so many writes (before) had ended, then it is repeated, alone:
// most of it the engine has at hand, since this transaction has read it before.
// So of two that claim one value or one id, one sees what the other has written.
func (w *write) run(ctx context.Context, before int64, look func(context.Context) error, change func() error) error {
	w.t.startFences()
	err := look(ctx)
	if lost := w.t.awaitFences(ctx); lost != nil {
		return lost
	}
	w.t.lock.Lock()
	defer w.t.lock.Unlock()
	if w.t.writes.Load() != before {
		err = look(ctx)
	}
	if err != nil {
		return err
	}
	defer w.t.writes.Add(1)
	return change()
}

// start begins the reads of a look.
func (w *write) start() {
	w.was = w.t.writer.Get(w.sc.key)
	w.owner = w.fence.fence.Start(w.t.writer)
	w.sc.claims.Start(w.t.writer, w.o.indexes, &w.sc.now)
	w.started = true
}

// look reads the stored form and checks that the new one may take its place.
func (w *write) look(ctx context.Context) error {
	if !w.started {
		w.start()
	}
	w.started = false
	value, err := w.was.Get(ctx)
	switch w.value = value; {
	case err != nil:
		return err
	case value == nil && w.mustExist:
		return fmt.Errorf("%w: %s %s", ErrNotFound, w.Type, idText(w.sc.id))
	case value == nil:
		if err := cmp.Or(w.fence.err, w.owner.Wait(ctx)); err != nil {
			return fenceError(w.Type, w.sc.id, err)
		}
		return w.indexError(w.sc.claims.Check(ctx, w.o.indexes, &w.sc.now, nil, w.sc.id))
	case w.mustBeNew:
		return fmt.Errorf("%w: %s %s", ErrExists, w.Type, idText(w.sc.id))
	}
	if err := w.lookAtStored(ctx); err != nil {
		return err
	}
	if err := w.checkSeen(); err != nil {
		return err
	}
	return w.indexError(w.sc.claims.Check(ctx, w.o.indexes, &w.sc.now, &w.sc.before, w.sc.id))
}

// lookAtStored reads the rest of the stored form, and collects its entries.
func (w *write) lookAtStored(ctx context.Context) (err error) {
	if w.old, err = w.whole(ctx, w.t.writer, w.sc.id, w.sc.key, w.value); err != nil {
		return err
	}
	return w.gatherStored(w.o, w.sc, w.old)
}

// put writes a record where there was none, or over its stored form, whose
// creation token and unknown fields stay.
func (w *write) put() (err error) {
	if w.value == nil {
		if err := w.store(w.t, w.o, w.sc, nil, nil); err != nil {
			return err
		}
		w.t.noteCreated(w.sc.key)
		return nil
	}
	copy(w.sc.value[minHeaderSize-tokenSize:minHeaderSize], w.old.token[:])
	if w.sc.value, err = wire.MergeUnknown(w.sc.value, minHeaderSize, w.old.payload, w.Known); err != nil {
		return recordError(w.Type, idText(w.sc.id), w.sc.key, err)
	}
	return w.store(w.t, w.o, w.sc, &w.old, w.value)
}

// prepare makes the key, the value and the index entries of a record's new
// form, and refuses what cannot be stored before anything is read.
func (r *record) prepare(sc *scratch, o *openStore, p *place, t token, v any) (err error) {
	if r.CheckArgs != nil {
		if field, got, ok := r.CheckArgs(v, p.args); !ok {
			return &DirectoryError{
				Type: r.Type, Path: p.path, Field: field,
				Reason: fmt.Sprintf("the record belongs to %q: use the store of that directory", got),
			}
		}
	}
	sc.id = r.appendID(sc.id[:0], v)
	sc.key = o.records.append(sc.key[:0], sc.id)
	if len(sc.key)+maxChunkSuffix > kv.MaxKeySize {
		return &FieldError{Type: r.Type, Field: "the id", Reason: fmt.Sprintf(
			"it makes a key of %d bytes; at most %d are possible: use a shorter id", len(sc.key), kv.MaxKeySize-maxChunkSuffix)}
	}
	if sc.value, err = r.Encode(appendHeader(sc.value[:0], 0, t), v); err != nil {
		return err
	}
	return r.gather(&sc.now, o, sc.id, v)
}

// maxChunkSuffix is room for a chunk's number behind a record's key.
const maxChunkSuffix = 4

// gather collects the entries of a record in all maintained indexes.
func (r *record) gather(set *index.Set, o *openStore, id []byte, v any) error {
	set.Reset()
	for i := range r.Indexes {
		if e := set.Open(&o.indexes[i], id); e != nil {
			r.Entries(i, e, v)
		}
		if err := set.Close(&o.indexes[i]); err != nil {
			return r.indexError(err)
		}
	}
	return nil
}

// indexError turns an error of package index into one of this package.
func (r *record) indexError(err error) error {
	if err == nil {
		return nil
	}
	var size *index.KeySizeError
	var taken *index.TakenError
	var entry *index.EntryError
	switch {
	case errors.As(err, &size):
		return &FieldError{Type: r.Type, Field: size.Field, Reason: "it cannot be indexed", Err: size}
	case errors.As(err, &taken):
		return r.uniqueError(taken)
	case errors.As(err, &entry):
		return &RecordError{Type: r.Type, Key: entry.Key, Reason: "an index entry is damaged", Remedy: "run BuildIndexes after disabling the index, or Verify to see more", Err: err}
	}
	return err
}

func (r *record) uniqueError(e *index.TakenError) error {
	owner, err := r.IDs.Read(e.Owner)
	if err != nil {
		owner = idText(e.Owner)
	}
	return &UniqueError{Type: r.Type, Index: e.Definition.Name, Fields: e.Definition.Fields, Values: e.Values, Owner: owner}
}

// gatherStored collects the entries of a record's stored form.
func (r *record) gatherStored(o *openStore, sc *scratch, old stored) error {
	sc.before.Reset()
	if len(r.Indexes) == 0 {
		return nil
	}
	before, err := r.decodeRecord(old, sc.id, sc.key)
	if err != nil {
		return err
	}
	return r.gather(&sc.before, o, sc.id, before)
}

// store writes the prepared record and the difference of its index entries.
// old and oldValue are the stored form, or nil.
func (r *record) store(t *transaction, o *openStore, sc *scratch, old *stored, oldValue []byte) error {
	is := index.Record{ID: sc.id}
	hadChunks := old != nil && old.chunks > 0
	if len(sc.value) <= kv.MaxValueSize {
		is.Value = sc.value
		t.writer.Set(sc.key, sc.value)
		if hadChunks {
			t.writer.ClearRange(chunkRange(sc.key))
		}
	} else if err := r.storeChunks(t, sc, hadChunks); err != nil {
		return err
	}
	was, before := index.Record{ID: sc.id}, (*index.Set)(nil)
	if old != nil {
		before = &sc.before
		if !hadChunks {
			was.Value = oldValue
		}
	}
	t.fresh.noteRecord(sc.key, old == nil, o.indexes, before, &sc.now)
	sc.entry = index.Maintain(t.writer, o.indexes, before, &sc.now, was, is, sc.entry)
	return nil
}

// maxRecordSize leaves room for the index entries of a record in a transaction.
const maxRecordSize = kv.MaxTransactionSize - 10*kv.MaxValueSize

// storeChunks writes a record that does not fit into one value: the first
// value with the header, and the rest in chunks under keys of their own.
func (r *record) storeChunks(t *transaction, sc *scratch, hadChunks bool) error {
	if len(sc.value) > maxRecordSize {
		return &RecordError{
			Type: r.Type, ID: idText(sc.id), Reason: fmt.Sprintf("it has %d bytes; at most %d are possible", len(sc.value), maxRecordSize),
			Remedy: "split it into several records",
		}
	}
	if hadChunks {
		t.writer.ClearRange(chunkRange(sc.key))
	}
	first, rest := splitRecord(sc.value)
	t.writer.Set(sc.key, first)
	for n := int64(1); len(rest) > 0; n++ {
		size := min(len(rest), kv.MaxValueSize)
		t.writer.Set(tuple.AppendInt(sc.key, n), rest[:size])
		rest = rest[size:]
	}
	return nil
}

// splitRecord cuts a record with a header for no chunks into its first value,
// with a header for as many as it needs, and the rest. The number of chunks
// takes one byte of the header as long as it is below 128, and is: a
// transaction cannot hold more.
func splitRecord(value []byte) (first, rest []byte) {
	chunks := (len(value) - 1) / kv.MaxValueSize
	value[1] = byte(chunks)
	return value[:kv.MaxValueSize], value[kv.MaxValueSize:]
}

// delete removes the record with the packed id in sc and its index entries,
// which are those of its stored form.
func (r *record) delete(ctx context.Context, t *transaction, p *place, sc *scratch) error {
	if t.writer == nil {
		return ErrReadOnly
	}
	before := t.writes.Load()
	o, was, err := openAhead(ctx, t, p, t.openForDeleting, func(o *openStore) kv.Future[[]byte] {
		sc.key = o.records.append(sc.key[:0], sc.id)
		return t.writer.Get(sc.key)
	}, settled)
	if err != nil || o == nil {
		return err
	}
	w := write{record: r, t: t, o: o, sc: sc, started: true, was: was}
	return w.run(ctx, before, w.lookToErase, w.erase)
}

func (w *write) lookToErase(ctx context.Context) (err error) {
	if !w.started {
		w.was = w.t.writer.Get(w.sc.key)
	}
	w.started = false
	if w.value, err = w.was.Get(ctx); err != nil || w.value == nil {
		return err
	}
	return w.lookAtStored(ctx)
}

// erase removes the stored form, if there is one.
func (w *write) erase() error {
	if w.value == nil {
		return nil
	}
	was := index.Record{ID: w.sc.id, Value: w.value}
	w.t.writer.Clear(w.sc.key)
	if w.old.chunks > 0 {
		was.Value = nil
		w.t.writer.ClearRange(chunkRange(w.sc.key))
	}
	w.sc.entry = index.Maintain(w.t.writer, w.o.indexes, &w.sc.before, nil, was, index.Record{}, w.sc.entry)
	w.t.noteDeleted(w.sc.key)
	return nil
}
