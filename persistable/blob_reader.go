// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
)

// blobReader is what [Blobs.Open] returns.
type blobReader struct {
	blobs  Blobs
	ctx    context.Context // of all reads
	blob   format.Blob
	offset int64  // of the next Read
	buffer []byte // the content from start on
	start  int64
	ahead  int64     // chunks that the next Read reads at most
	hash   hash.Hash // over what Read has returned up to hashed
	hashed int64
}

func newBlobReader(ctx context.Context, b Blobs, blob Blob) *blobReader {
	return &blobReader{blobs: b, ctx: ctx, blob: format.Blob(blob), ahead: 1, hash: sha256.New()}
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (n int, err error) {
	switch {
	case r.blob.Size == 0: // an empty content, or none
		_, err := r.load(nil, 0, 0)
		return 0, cmp.Or(err, r.checkSum())
	case r.offset >= r.blob.Size:
		return 0, r.checkSum()
	case len(p) == 0:
		return 0, nil
	}
	if at := r.offset - r.start; at < 0 || at >= int64(len(r.buffer)) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n = copy(p, r.buffer[r.offset-r.start:])
	if r.offset == r.hashed {
		_, _ = r.hash.Write(p[:n]) // never fails
		r.hashed += int64(n)
	}
	r.offset += int64(n)
	if r.hashed == r.blob.Size && r.offset == r.hashed { // a caller that knows the size does not read on
		if err := r.checkSum(); err != io.EOF {
			return 0, err // io.CopyN drops the error of a read that completes the content
		}
	}
	return n, nil
}

// fill reads the chunks from the offset on: more each time, until a Seek.
func (r *blobReader) fill() (err error) {
	n := r.offset / format.BlobChunk
	r.buffer, err = r.load(r.buffer[:0], n, min(n+r.ahead, r.blob.Chunks()))
	if err != nil {
		r.buffer = r.buffer[:0]
		return err
	}
	r.start, r.ahead = n*format.BlobChunk, min(2*r.ahead, blobBatch/format.BlobChunk)
	return nil
}

// checkSum returns [io.EOF], or if all of the content was read, and is not what was written, a *[RecordError].
func (r *blobReader) checkSum() error {
	if r.hashed != r.blob.Size || [sha256.Size]byte(r.hash.Sum(nil)) == r.blob.SHA256 {
		return io.EOF
	}
	return r.blobs.damaged(nil, fmt.Errorf("the SHA-256 of the content %x is wrong", r.blob.ID))
}

// Seek implements [io.Seeker].
func (r *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.blob.Size
	default:
		return 0, fmt.Errorf("persistable: a content cannot seek from %d", whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("persistable: a content has no position %d", offset)
	}
	if offset != r.offset {
		r.ahead = 1
	}
	if offset == 0 {
		r.hash.Reset()
		r.hashed = 0
	}
	r.offset = offset
	return offset, nil
}

// ReadAt implements [io.ReaderAt].
func (r *blobReader) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("persistable: a content has no position %d", offset)
	}
	if r.blob.Size == 0 {
		_, err := r.load(nil, 0, 0)
		return 0, cmp.Or(err, io.EOF)
	}
	const batch = blobBatch / format.BlobChunk
	var part []byte
	for n < len(p) {
		at := offset + int64(n)
		if at >= r.blob.Size {
			return n, io.EOF
		}
		first := at / format.BlobChunk
		end := (offset+int64(len(p))-1)/format.BlobChunk + 1
		if part, err = r.load(part[:0], first, min(end, first+batch, r.blob.Chunks())); err != nil {
			return n, err
		}
		n += copy(p[n:], part[at-first*format.BlobChunk:])
	}
	return n, nil
}

// load appends the chunks from first on, before end, to b.
func (r *blobReader) load(b []byte, first, end int64) (_ []byte, err error) {
	ctx, op := r.blobs.begin(r.ctx, "Blobs.Read", byID)
	defer op.finish(&err)
	before := len(b)
	err = r.blobs.runRead(ctx, func(t *transaction) (err error) {
		b, err = r.loadIn(ctx, t, b[:before], first, end)
		return err
	})
	return b, err
}

// loadIn does that in a transaction.
func (r *blobReader) loadIn(ctx context.Context, t *transaction, b []byte, first, end int64) ([]byte, error) {
	if r.blob == (format.Blob{}) {
		return b, r.blobs.noBlob(r.blob.ID, "is the zero Blob: the field has no content")
	}
	o, err := t.openStore(ctx, r.blobs.place)
	if err != nil {
		return b, err
	}
	if o == nil {
		return b, r.blobs.noBlob(r.blob.ID, "is not there: the store is not")
	}
	if r.blob.Size == 0 {
		return b, r.checkThere(ctx, t, o)
	}
	var reads []kv.Future[[]byte]
	for n := first; n < end; n++ {
		reads = append(reads, t.Reader.Get(o.blobs.keys.Chunk(r.blob.ID, n)))
	}
	b = slices.Grow(b, int(end-first)*format.BlobChunk)
	for i, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return b, err
		}
		n := first + int64(i)
		if value == nil {
			return b, r.missing(ctx, t, o, n)
		}
		content, err := r.blob.ReadChunk(n, value)
		if err != nil {
			return b, r.blobs.damaged(o.blobs.keys.Chunk(r.blob.ID, n), err)
		}
		b = append(b, content...)
	}
	return b, nil
}

// checkThere returns an [ErrNoBlob] if the content is gone.
func (r *blobReader) checkThere(ctx context.Context, t *transaction, o *openStore) error {
	keys := o.blobs.keys
	for _, read := range []kv.Future[[]byte]{t.Reader.Get(keys.Head(r.blob.ID)), t.Reader.Get(keys.Upload(r.blob.ID))} {
		if value, err := read.Get(ctx); err != nil || value != nil {
			return err
		}
	}
	return r.blobs.noBlob(r.blob.ID, "is not there: its record was deleted, or has another content")
}

// missing returns the error of a chunk that is not there: of a content that is gone, or damaged.
func (r *blobReader) missing(ctx context.Context, t *transaction, o *openStore, n int64) error {
	if err := r.checkThere(ctx, t, o); err != nil {
		return err
	}
	return r.blobs.damaged(o.blobs.keys.Chunk(r.blob.ID, n), errors.New("the chunk is missing"))
}
