// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// put writes a record: a new one only, or whatever is there before. All reads,
// of the stored record and of the unique keys, are one round.
func (r *record[T]) put(ctx context.Context, t *transaction, p *place, v *T, mustBeNew bool) error {
	o, err := t.openForWriting(ctx, p)
	if err != nil {
		return err
	}
	sc := getScratch()
	defer sc.free()
	if err := r.prepare(sc, o, p, t.token, v); err != nil {
		return err
	}
	was := t.writer.Get(sc.key)
	sc.claims.Start(t.writer, o.indexes, &sc.now)
	value, err := was.Get(ctx)
	switch {
	case err != nil:
		return err
	case value == nil:
		err = r.insert(ctx, t, o, sc)
	case mustBeNew:
		err = fmt.Errorf("%w: %s %s", ErrExists, r.typ, idText(sc.id))
	default:
		err = r.update(ctx, t, o, sc, value)
	}
	return err
}

// prepare makes the key, the value and the index entries of a record's new
// form, and refuses what cannot be stored before anything is read.
func (r *record[T]) prepare(sc *scratch, o *openStore, p *place, t token, v *T) (err error) {
	if r.checkArgs != nil {
		if field, got, ok := r.checkArgs(v, p.args); !ok {
			return &DirectoryError{Type: r.typ, Path: p.path, Field: field,
				Reason: fmt.Sprintf("the record belongs to %q: use the store of that directory", got)}
		}
	}
	sc.id = r.appendID(sc.id[:0], v)
	sc.key = append(append(sc.key[:0], o.records...), sc.id...)
	if len(sc.key)+maxChunkSuffix > kv.MaxKeySize {
		return &FieldError{Type: r.typ, Field: "the id", Reason: fmt.Sprintf(
			"it makes a key of %d bytes; at most %d are possible: use a shorter id", len(sc.key), kv.MaxKeySize-maxChunkSuffix)}
	}
	if sc.value, err = r.encode(appendHeader(sc.value[:0], 0, t), v); err != nil {
		return err
	}
	return r.gather(&sc.now, o, sc.id, v)
}

// maxChunkSuffix is room for a chunk's number behind a record's key.
const maxChunkSuffix = 4

// gather collects the entries of a record in all maintained indexes.
func (r *record[T]) gather(set *index.Set, o *openStore, id []byte, v *T) error {
	set.Reset()
	for i := range r.indexes {
		if e := set.Open(&o.indexes[i], id); e != nil {
			r.indexes[i].Entries(e, v)
		}
		if err := set.Close(&o.indexes[i]); err != nil {
			return r.indexError(err)
		}
	}
	return nil
}

// indexError turns an error of package index into one of this package.
func (r *record[T]) indexError(err error) error {
	var size *index.KeySizeError
	var taken *index.TakenError
	var entry *index.EntryError
	switch {
	case errors.As(err, &size):
		return &FieldError{Type: r.typ, Field: size.Field, Reason: "it cannot be indexed", Err: size}
	case errors.As(err, &taken):
		return r.uniqueError(taken)
	case errors.As(err, &entry):
		return &RecordError{Type: r.typ, Key: entry.Key, Reason: "an index entry is damaged", Remedy: "run BuildIndexes after disabling the index, or Verify to see more", Err: err}
	}
	return err
}

func (r *record[T]) uniqueError(e *index.TakenError) error {
	owner, err := r.readID(e.Owner)
	if err != nil {
		owner = idText(e.Owner)
	}
	return &UniqueError{Type: r.typ, Index: e.Definition.Name, Fields: e.Definition.Fields, Values: e.Values, Owner: owner}
}

// insert writes a record where there was none.
func (r *record[T]) insert(ctx context.Context, t *transaction, o *openStore, sc *scratch) error {
	if err := sc.claims.Check(ctx, o.indexes, &sc.now, nil, sc.id); err != nil {
		return r.indexError(err)
	}
	if err := r.store(t, o, sc, nil, nil); err != nil {
		return err
	}
	t.noteCreated(sc.key)
	return nil
}

// update writes a record over its stored form, whose creation token and
// unknown fields stay.
func (r *record[T]) update(ctx context.Context, t *transaction, o *openStore, sc *scratch, value []byte) error {
	old, err := r.whole(ctx, t.writer, sc.id, sc.key, value)
	if err != nil {
		return err
	}
	if err := r.gatherStored(o, sc, old); err != nil {
		return err
	}
	if err := sc.claims.Check(ctx, o.indexes, &sc.now, &sc.before, sc.id); err != nil {
		return r.indexError(err)
	}
	copy(sc.value[minHeaderSize-tokenSize:minHeaderSize], old.token[:])
	if sc.value, err = wire.MergeUnknown(sc.value, minHeaderSize, old.payload, r.known); err != nil {
		return recordError(r.typ, idText(sc.id), sc.key, err)
	}
	return r.store(t, o, sc, &old, value)
}

// gatherStored collects the entries of a record's stored form.
func (r *record[T]) gatherStored(o *openStore, sc *scratch, old stored) error {
	sc.before.Reset()
	if len(r.indexes) == 0 {
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
func (r *record[T]) store(t *transaction, o *openStore, sc *scratch, old *stored, oldValue []byte) error {
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
	sc.entry = index.Maintain(t.writer, o.indexes, before, &sc.now, was, is, sc.entry)
	return nil
}

// maxRecordSize leaves room for the index entries of a record in a transaction.
const maxRecordSize = kv.MaxTransactionSize - 10*kv.MaxValueSize

// storeChunks writes a record that does not fit into one value: the first
// value with the header, and the rest in chunks under keys of their own.
func (r *record[T]) storeChunks(t *transaction, sc *scratch, hadChunks bool) error {
	if len(sc.value) > maxRecordSize {
		return &RecordError{Type: r.typ, ID: idText(sc.id), Reason: fmt.Sprintf("it has %d bytes; at most %d are possible", len(sc.value), maxRecordSize),
			Remedy: "split it into several records"}
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

// delete removes a record and its index entries, which are those of its stored
// form. It reports whether there was one.
func (r *record[T]) delete(ctx context.Context, t *transaction, p *place, appendID func([]byte) []byte) (bool, error) {
	if t.writer == nil {
		return false, ErrReadOnly
	}
	o, err := t.openForDeleting(ctx, p)
	if err != nil || o == nil {
		return false, err
	}
	sc := getScratch()
	defer sc.free()
	sc.id = appendID(sc.id[:0])
	sc.key = append(append(sc.key[:0], o.records...), sc.id...)
	value, err := t.writer.Get(sc.key).Get(ctx)
	if err != nil || value == nil {
		return false, err
	}
	old, err := r.whole(ctx, t.writer, sc.id, sc.key, value)
	if err != nil {
		return false, err
	}
	if err := r.gatherStored(o, sc, old); err != nil {
		return false, err
	}
	r.erase(t, o, sc, old, value)
	return true, nil
}

func (r *record[T]) erase(t *transaction, o *openStore, sc *scratch, old stored, value []byte) {
	was := index.Record{ID: sc.id, Value: value}
	t.writer.Clear(sc.key)
	if old.chunks > 0 {
		was.Value = nil
		t.writer.ClearRange(chunkRange(sc.key))
	}
	sc.entry = index.Maintain(t.writer, o.indexes, &sc.before, nil, was, index.Record{}, sc.entry)
	t.noteDeleted(sc.key)
}
