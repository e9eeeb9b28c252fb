// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
)

// BlobWriter writes a content. It is an [io.WriteCloser] for one goroutine. It stores what it has each time
// it has 900 kB, in a transaction of its own, with how far it has come: so an upload that is interrupted,
// even by the end of the process, goes on from there by [Blobs.Resume]. It is seen by no reader of records before
// a record with the [Blob] of Commit is written.
//
// After an error of Write, Close or Commit the writer is useless: what was not stored is lost. Resume
// says how far it came.
type BlobWriter struct {
	blobs  Blobs
	ctx    context.Context // of all transactions
	id     [16]byte
	upload format.Upload // State is that of what is stored
	hash   hash.Hash     // over all that was written
	buffer []byte        // what follows the last whole chunk that is stored
	stored []byte        // the value of the upload; nil: there is none yet
	dirty  bool          // the buffer has bytes that are not stored
	err    error         // of the first operation that failed
}

// blobBatch is how many bytes of content a transaction writes or reads: whole chunks.
const blobBatch = 14 * format.BlobChunk

func newBlobWriter(ctx context.Context, b Blobs, id [16]byte) *BlobWriter {
	return &BlobWriter{blobs: b, ctx: ctx, id: id, hash: sha256.New()}
}

// ID returns the id of the upload, for [Blobs.Resume]. It stays the same.
func (w *BlobWriter) ID() string { return hex.EncodeToString(w.id[:]) }

// Size returns how many bytes were written, those before the upload was resumed included.
func (w *BlobWriter) Size() int64 { return w.upload.Size }

// Write implements [io.Writer].
func (w *BlobWriter) Write(p []byte) (n int, err error) {
	if err := w.checkOpen(); err != nil {
		return 0, err
	}
	for len(p) > 0 {
		part := p[:min(len(p), blobBatch-len(w.buffer))]
		w.buffer = append(w.buffer, part...)
		_, _ = w.hash.Write(part) // never fails
		w.upload.Size += int64(len(part))
		w.dirty = true
		p, n = p[len(part):], n+len(part)
		if len(w.buffer) == blobBatch {
			if err := w.flush(false); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Close stores what was written, so that the upload can be resumed. After Commit it does nothing.
func (w *BlobWriter) Close() error {
	if w.err == nil && w.dirty {
		return w.flush(false)
	}
	return w.err
}

// Commit stores what was written, and returns the Blob for the field of a record: nothing can be added to
// the content. It returns the same Blob when it is called again, also by a writer that has resumed the upload.
func (w *BlobWriter) Commit() (Blob, error) {
	if w.err == nil && !w.upload.Complete {
		_ = w.flush(true) // sets w.err
	}
	if w.err != nil {
		return Blob{}, w.err
	}
	return Blob(w.upload.Blob(w.id)), nil
}

// checkOpen returns why nothing can be written, or nil.
func (w *BlobWriter) checkOpen() error {
	if w.err == nil && w.upload.Complete {
		return fmt.Errorf("persistable: %s: the content %x is committed: nothing can be added to it", w.blobs.typeName(), w.id)
	}
	return w.err
}

// flush stores the buffer, and how far the upload has come.
func (w *BlobWriter) flush(complete bool) (err error) {
	defer func() { w.err = err }()
	next := w.upload
	next.Complete, next.Changed = complete, time.Now()
	if next.State, err = w.state(complete); err != nil {
		return err
	}
	value := next.Encode()
	ctx, op := w.blobs.begin(w.ctx, "Blobs.Write", byID)
	defer op.finish(&err)
	if err := w.transact(ctx, func(t *transaction, o *openStore) error { return w.store(ctx, t, o, value) }); err != nil {
		return err
	}
	w.upload, w.stored, w.dirty = next, value, false
	w.buffer = append(w.buffer[:0], w.buffer[len(w.buffer)/format.BlobChunk*format.BlobChunk:]...)
	return nil
}

// state returns the state of the hash, or if the content is complete, its sum.
func (w *BlobWriter) state(complete bool) ([]byte, error) {
	if complete {
		return w.hash.Sum(nil), nil
	}
	state, err := w.hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("persistable: the state of the SHA-256: %w", err)
	}
	return state, nil
}

// transact runs fn in a transaction with the store, which it creates if it is not there.
func (w *BlobWriter) transact(ctx context.Context, fn func(*transaction, *openStore) error) error {
	b := w.blobs
	if b.tx != nil {
		return fmt.Errorf("persistable: %s: a content is written in several transactions: use a store that is not bound to one", b.typeName())
	}
	return b.runWrite(ctx, func(t *transaction) error {
		o, _, err := t.openOrCreateStore(ctx, b.place, func(*openStore) error { return nil })
		switch {
		case err != nil:
			return err
		case len(o.blobs.fields) == 0:
			return fmt.Errorf("persistable: %s has no field of type persistable.Blob: records of the type cannot refer to a content", b.typeName())
		}
		return fn(t, o)
	})
}

// store writes the chunks of the buffer, and value as that of the upload. After a lost acknowledgement
// it finds value there.
func (w *BlobWriter) store(ctx context.Context, t *transaction, o *openStore, value []byte) error {
	keys := o.blobs.keys
	found, err := t.writer.Get(keys.Upload(w.id)).Get(ctx)
	switch {
	case err != nil || bytes.Equal(found, value):
		return err
	case found == nil && w.stored != nil:
		return w.blobs.noBlob(w.id, "is not being uploaded any more: it was removed, or attached to a record")
	case found == nil: // an attempt of the first write may have committed, and another writer gone on
		head, err := t.writer.Get(keys.Head(w.id)).Get(ctx)
		if err != nil {
			return err
		}
		if head != nil {
			return w.blobs.noBlob(w.id, "is not being uploaded any more: it is attached to a record")
		}
	case !bytes.Equal(found, w.stored):
		return fmt.Errorf("persistable: %s: another writer has gone on with the upload %x: only one at a time can", w.blobs.typeName(), w.id)
	}
	n := (w.upload.Size - int64(len(w.buffer))) / format.BlobChunk
	for rest := w.buffer; len(rest) > 0; n++ {
		part := rest[:min(len(rest), format.BlobChunk)]
		t.writer.Set(keys.Chunk(w.id, n), format.AppendBlobChunk(nil, w.id, n, part))
		rest = rest[len(part):]
	}
	t.writer.Set(keys.Upload(w.id), value)
	return nil
}

// resume reads how far the upload has come, and what follows its last whole chunk.
func (w *BlobWriter) resume() error {
	return w.blobs.runRead(w.ctx, func(t *transaction) error {
		o, err := t.openStore(w.ctx, w.blobs.place)
		if err != nil {
			return err
		}
		if o == nil {
			return w.blobs.noBlob(w.id, "is not being uploaded: the store is not there")
		}
		return w.read(t, o)
	})
}

// read reads the upload in a transaction.
func (w *BlobWriter) read(t *transaction, o *openStore) (err error) {
	key := o.blobs.keys.Upload(w.id)
	if w.stored, err = t.Reader.Get(key).Get(w.ctx); err != nil {
		return err
	}
	if w.stored == nil {
		return w.blobs.noBlob(w.id, "is not being uploaded: it was removed, or attached to a record, or nothing of it was stored yet")
	}
	w.stored = bytes.Clone(w.stored)
	if w.upload, err = format.DecodeUpload(w.stored); err != nil {
		return recordError(w.blobs.typeName(), "", key, err)
	}
	if w.upload.Complete {
		return nil
	}
	if err := w.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(w.upload.State); err != nil {
		return w.blobs.damaged(key, fmt.Errorf("the state of its SHA-256: %w", err))
	}
	return w.readTail(t, o)
}

// readTail reads what follows the last whole chunk.
func (w *BlobWriter) readTail(t *transaction, o *openStore) error {
	w.buffer = w.buffer[:0]
	n, size := w.upload.Size/format.BlobChunk, int(w.upload.Size%format.BlobChunk)
	if size == 0 {
		return nil
	}
	key := o.blobs.keys.Chunk(w.id, n)
	value, err := t.Reader.Get(key).Get(w.ctx)
	if err != nil {
		return err
	}
	content, err := format.ReadBlobChunk(w.id, n, value)
	if err == nil && len(content) != size {
		err = errors.New("its last chunk is not whole")
	}
	if err != nil {
		return w.blobs.damaged(key, err)
	}
	w.buffer = append(w.buffer, content...)
	return nil
}
