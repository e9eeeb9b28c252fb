// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
)

// Blobs writes and reads the contents to which the records of a store refer by fields of type [Blob]. It
// is immutable and safe for concurrent use.
type Blobs struct{ source }

// BlobsOf returns the blobs of a store: a generated store, or a pointer to a [Store]. Those of a store
// that is bound to a transaction are read in that transaction, and cannot be written: a content takes
// several.
func BlobsOf(store AnyStore) Blobs { return Blobs{store.Indexes().source} }

// New returns a writer of a new content. Nothing is stored before the writer has 900 kB, or is closed or
// committed. ctx is that of all transactions of the writer.
func (b Blobs) New(ctx context.Context) *BlobWriter {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return newBlobWriter(ctx, b, id)
}

// Resume returns a writer that goes on with an upload which was closed or interrupted, in this process
// or another one. id is that of [BlobWriter.ID]. What follows the first [BlobWriter.Size] bytes of the
// content is to be written. If the upload is not there, it returns an [ErrNoBlob]: it was removed, or
// attached, or nothing was stored yet. Only one writer at a time can go on with an upload: the others fail.
func (b Blobs) Resume(ctx context.Context, id string) (*BlobWriter, error) {
	var parsed [16]byte
	if n, err := hex.Decode(parsed[:], []byte(id[:min(len(id), 2*len(parsed))])); err != nil || n < len(parsed) || len(id) > 2*len(parsed) {
		return nil, fmt.Errorf("persistable: %q is not the id of an upload: take that of BlobWriter.ID", shorten(id))
	}
	w := newBlobWriter(ctx, b, parsed)
	if err := w.resume(); err != nil {
		return nil, err
	}
	return w, nil
}

// Open returns a reader of a content. The reader is an [io.ReadSeeker] for one goroutine, so that
// [net/http.ServeContent] can serve ranges of it, and an [io.ReaderAt] for any number. It holds at most 900 kB of
// the content. ctx is that of all reads.
//
// Open itself reads nothing. Each round of reads is a transaction of its own, unless the store is bound to one. The
// checksum of each chunk is compared and, if a content is read from its beginning to its end, its SHA-256, in place of
// [io.EOF]: what does not match is a *[RecordError]. A content that is not there, or was removed while it was read,
// because its record was deleted or got another one, is an [ErrNoBlob].
func (b Blobs) Open(ctx context.Context, blob Blob) interface {
	io.ReadSeeker
	io.ReaderAt
} {
	return newBlobReader(ctx, b, blob)
}

// Uploads yields the contents that are not attached to a record, and to which nothing was added for a time: those that
// are being written, and those that were left over. One that was committed is the [Blob] that can be attached; another
// one has no SHA-256, and its ID in hexadecimal digits is that for [Blobs.Resume].
//
// Cost: one round of reads for each 100 of them. Contents that are attached cost nothing.
func (b Blobs) Uploads(ctx context.Context, unchangedFor time.Duration) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		for u, err := range b.uploads(ctx, unchangedFor) {
			if !yield(u.blob(), err) {
				return
			}
		}
	}
}

// RemoveUploads removes the contents that [Blobs.Uploads] yields, and returns how many. Choose a time in which an interrupted upload is resumed, and a committed
// one is attached, such as a day. An upload that is removed cannot be resumed, nor attached.
//
// Cost: one round of reads for each 100 uploads, and a transaction for each that is removed.
func (b Blobs) RemoveUploads(ctx context.Context, unchangedFor time.Duration) (removed int, err error) {
	if b.tx != nil {
		return 0, fmt.Errorf("persistable: %s: uploads are removed in transactions of their own: use a store that is not bound to one", b.typeName())
	}
	if err := b.checkUsable(); err != nil {
		return 0, err
	}
	b.db = b.db.Maintenance()
	for u, err := range b.uploads(ctx, unchangedFor) {
		if err != nil {
			return removed, err
		}
		gone, err := b.remove(ctx, u)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// typeName returns the name of the type, for errors.
func (b Blobs) typeName() string {
	if b.record == nil {
		return "the zero store"
	}
	return b.record.Type
}

// storedUpload is an upload as it was read.
type storedUpload struct {
	format.Upload
	id    [16]byte
	value []byte
}

// blob returns the content; without a SHA-256 if it is not complete.
func (u *storedUpload) blob() Blob {
	if !u.Complete {
		return Blob{ID: u.id, Size: u.Size}
	}
	return Blob(u.Upload.Blob(u.id))
}

// uploadsPage is how many uploads a transaction reads.
const uploadsPage = 100

// uploads yields the uploads that did not change for a time, in as many transactions as they take.
func (b Blobs) uploads(ctx context.Context, unchangedFor time.Duration) iter.Seq2[storedUpload, error] {
	return func(yield func(storedUpload, error) bool) {
		if unchangedFor < 0 {
			yield(storedUpload{}, fmt.Errorf("persistable: %s: uploads that are unchanged for %v: the time is negative", b.typeName(), unchangedFor))
			return
		}
		var after []byte
		for {
			var page []storedUpload
			err := b.runRead(ctx, func(t *transaction) (err error) {
				page, err = b.readUploads(ctx, t, after)
				return err
			})
			if err != nil {
				yield(storedUpload{}, err)
				return
			}
			for _, u := range page {
				if time.Since(u.Changed) >= unchangedFor && !yield(u, nil) {
					return
				}
			}
			if len(page) < uploadsPage {
				return
			}
			last := page[len(page)-1].id
			after = last[:]
		}
	}
}

// readUploads reads the uploads after the one with an id; nil for the first ones.
func (b Blobs) readUploads(ctx context.Context, t *transaction, after []byte) (page []storedUpload, err error) {
	o, err := t.openStore(ctx, b.place)
	if err != nil || o == nil {
		return nil, err
	}
	r := o.blobs.keys.Uploads()
	if after != nil {
		r.Begin = kv.Successor(o.blobs.keys.Upload([16]byte(after)))
	}
	for pair, err := range t.Reader.GetRange(r.Selectors(), kv.RangeOptions{Limit: uploadsPage}).All(ctx) {
		if err != nil {
			return nil, err
		}
		id, err := o.blobs.keys.UploadID(pair.Key)
		if err != nil {
			return nil, recordError(b.record.Type, "", pair.Key, err)
		}
		u, err := format.DecodeUpload(pair.Value)
		if err != nil {
			return nil, recordError(b.record.Type, "", pair.Key, err)
		}
		page = append(page, storedUpload{u, id, bytes.Clone(pair.Value)})
	}
	return page, nil
}

// remove removes an upload, unless it has changed since it was read. It reports whether it has.
func (b Blobs) remove(ctx context.Context, u storedUpload) (gone bool, err error) {
	err = b.runWrite(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, b.place)
		if err != nil || o == nil {
			return err
		}
		key := o.blobs.keys.Upload(u.id)
		value, err := t.writer.Get(key).Get(ctx)
		if err != nil || value == nil { // an attempt before may have removed it
			return err
		}
		if gone = bytes.Equal(value, u.value); gone {
			t.writer.Clear(key)
			head, err := t.writer.Get(o.blobs.keys.Head(u.id)).Get(ctx)
			if err != nil || head != nil { // a record has the content
				return err
			}
			t.writer.ClearRange(o.blobs.keys.Content(u.id))
		}
		return nil
	})
	return gone && err == nil, err
}

// blobPlace is where the blobs of a store are.
type blobPlace struct {
	keys   format.BlobKeys
	fields []*schema.Field // that refer to blobs, by the header of the store
}

// noBlob returns an [ErrNoBlob] about a blob of the store.
func (b Blobs) noBlob(id [16]byte, reason string) error {
	return sentinel.Mark(ErrNoBlob, fmt.Errorf("persistable: %s: the content %x%s %s", b.typeName(), id, b.place.inDirectory(), reason))
}

// damaged returns the error of a stored value of a blob that cannot be used.
func (b Blobs) damaged(key []byte, err error) error {
	return &RecordError{Type: b.typeName(), Key: key, Reason: "a blob is damaged", Remedy: "restore it from a backup, or write the content again", Err: err}
}
