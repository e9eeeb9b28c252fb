// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
)

// blobChange is what a write changes of the contents to which its record refers. It follows from the
// bytes of both forms and the fields in the header, so that a program which does not know a field does the
// same as one that does.
type blobChange struct{ added, removed []format.FieldBlob }

// plan compares both forms, and returns why a content cannot be attached. Only new contents are read.
func (c *blobChange) plan(ctx context.Context, w *write) error {
	*c = blobChange{}
	fields := w.store.blobs.fields
	if len(fields) == 0 {
		return nil
	}
	was, err := readBlobs(w, !w.isNew(), w.old.Payload)
	if err != nil {
		return err
	}
	now, err := readBlobs(w, w.v != nil, w.sc.value[min(len(w.sc.value), format.HeaderSize):])
	if err != nil {
		return err
	}
	c.added = withoutBlobs(now, func(b, other format.FieldBlob) bool { return b.Blob == other.Blob }, was)
	c.removed = withoutBlobs(was, func(b, other format.FieldBlob) bool { return b.ID == other.ID }, now)
	return c.checkAdded(ctx, w)
}

// readBlobs returns the blobs of a form, none if there is no form.
func readBlobs(w *write, exists bool, payload []byte) ([]format.FieldBlob, error) {
	if !exists {
		return nil, nil
	}
	blobs, err := format.ReadBlobs(payload, w.store.blobs.fields)
	if err != nil {
		return nil, recordError(w.Type, w.idText(), w.sc.key, err)
	}
	return blobs, nil
}

// withoutBlobs returns the blobs that are not among others.
func withoutBlobs(blobs []format.FieldBlob, same func(b, other format.FieldBlob) bool, others []format.FieldBlob) (rest []format.FieldBlob) {
	for _, b := range blobs {
		if !slices.ContainsFunc(others, func(other format.FieldBlob) bool { return same(b, other) }) {
			rest = append(rest, b)
		}
	}
	return rest
}

// checkAdded returns why a content cannot be attached to the record.
func (c *blobChange) checkAdded(ctx context.Context, w *write) error {
	keys, reads := w.store.blobs.keys, make([]kv.Future[[]byte], 0, 2*len(c.added))
	for _, b := range c.added {
		reads = append(reads, w.t.writer.Get(keys.Upload(b.ID)), w.t.writer.Get(keys.Head(b.ID)))
	}
	for i, b := range c.added {
		upload, err := reads[2*i].Get(ctx)
		if err != nil {
			return err
		}
		head, err := reads[2*i+1].Get(ctx)
		if err != nil {
			return err
		}
		if err := checkContent(w, b, upload, head); err != nil {
			return err
		}
	}
	return nil
}

// checkContent returns why a blob cannot be attached, by the values of its keys.
func checkContent(w *write, b format.FieldBlob, upload, head []byte) error {
	refuse := func(sentinel error, reason string, args ...any) error {
		return &FieldError{Type: w.Type, Field: b.Field, Reason: fmt.Sprintf("the content %x "+reason, append([]any{b.ID}, args...)...), Err: sentinel}
	}
	switch {
	case head != nil:
		h, err := format.DecodeBlobHead(b.ID, head)
		if err != nil {
			return recordError(w.Type, w.idText(), w.store.blobs.keys.Head(b.ID), err)
		}
		if !bytes.Equal(h.Owner, w.sc.id) {
			return refuse(ErrBlobAttached, "is attached to the %s %s: write it again for this one", w.Type, idText(h.Owner))
		}
		if h.Blob != b.Blob {
			return refuse(ErrNoBlob, "has another size or SHA-256 than this Blob says: take the Blob of Commit")
		}
		return nil
	case upload == nil:
		return refuse(ErrNoBlob, "is not in this store: it was removed, or belongs to another store, as after an import of records as JSON: write it again")
	}
	u, err := format.DecodeUpload(upload)
	switch {
	case err != nil:
		return recordError(w.Type, w.idText(), w.store.blobs.keys.Upload(b.ID), err)
	case !u.Complete:
		return refuse(ErrNoBlob, "is not complete: take the Blob of Commit")
	case u.Blob(b.ID) != b.Blob:
		return refuse(ErrNoBlob, "has another size or SHA-256 than this Blob says: take the Blob of Commit")
	}
	return nil
}

// write attaches the contents of the new form, and removes those that only the stored one has.
func (c *blobChange) write(w *write) {
	keys := w.store.blobs.keys
	for _, b := range c.added {
		w.t.writer.Clear(keys.Upload(b.ID))
		w.t.writer.Set(keys.Head(b.ID), format.BlobHead{Owner: w.sc.id, Blob: b.Blob}.Encode())
	}
	for _, b := range c.removed {
		w.t.writer.ClearRange(keys.Content(b.ID))
	}
}
