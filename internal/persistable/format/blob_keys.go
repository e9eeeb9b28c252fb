// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// BlobLetter is the first element of the keys of contents.
const BlobLetter = "B"

// BlobKeys are the keys of the blobs of a store:
//
//	("B", type, id)            the record to which the blob is attached: a [BlobHead]
//	("B", type, id, n)         the n-th chunk of the content, from 0
//	("S", type, "upload", id)  a content that is not attached to a record yet: an [Upload]
type BlobKeys struct{ contents, uploads []byte }

// NewBlobKeys returns the keys of a type in the directory with that prefix.
func NewBlobKeys(prefix []byte, typ string) BlobKeys {
	at := func(elements ...string) []byte {
		b := slices.Clone(prefix)
		for _, e := range elements {
			b = tuple.AppendString(b, e)
		}
		return slices.Clip(b)
	}
	return BlobKeys{at(BlobLetter, typ), at("S", typ, "upload")}
}

// Head returns the key of the [BlobHead].
func (k BlobKeys) Head(id [16]byte) []byte { return tuple.AppendUUID(slices.Clone(k.contents), id) }

// Chunk returns the key of the n-th chunk.
func (k BlobKeys) Chunk(id [16]byte, n int64) []byte { return tuple.AppendInt(k.Head(id), n) }

// Content returns the range of the head and all chunks.
func (k BlobKeys) Content(id [16]byte) kv.KeyRange { return kv.PrefixRange(k.Head(id)) }

// Upload returns the key of the [Upload].
func (k BlobKeys) Upload(id [16]byte) []byte { return tuple.AppendUUID(slices.Clone(k.uploads), id) }

// Uploads returns the range of all uploads.
func (k BlobKeys) Uploads() kv.KeyRange { return kv.PrefixRange(slices.Clone(k.uploads)) }

// UploadID returns the id in the key of an [Upload].
func (k BlobKeys) UploadID(key []byte) (id [16]byte, err error) {
	id, rest, err := tuple.ReadUUID(key[len(k.uploads):])
	if err == nil && len(rest) > 0 {
		err = errors.New("bytes follow the id")
	}
	return id, err
}

// The formats of the values.
const (
	uploadFormat = 1
	headFormat   = 1
)

// Upload is how far the upload of a content has come.
type Upload struct {
	Size     int64 // that is stored
	Complete bool  // nothing follows
	// State is that of the SHA-256 over what is stored; if the upload is complete, the SHA-256 itself.
	State   []byte
	Changed time.Time // when the last chunk was stored, by the clock of the process that did it
}

// Encode returns the value: (1, size, whether it is complete, state, milliseconds since 1970).
func (u Upload) Encode() []byte {
	b := tuple.AppendInt(tuple.AppendInt(nil, uploadFormat), u.Size)
	return tuple.AppendInt(tuple.AppendBytes(tuple.AppendBool(b, u.Complete), u.State), u.Changed.UnixMilli())
}

// DecodeUpload reads what [Upload.Encode] returns.
func DecodeUpload(value []byte) (u Upload, err error) {
	r := tupleReader{rest: value}
	r.format(uploadFormat)
	u.Size = read(&r, tuple.ReadInt)
	u.Complete = read(&r, tuple.ReadBool)
	u.State = read(&r, tuple.ReadBytes)
	u.Changed = time.UnixMilli(read(&r, tuple.ReadInt))
	if r.err == nil && u.Size < 0 {
		r.err = errors.New("its size is negative")
	}
	return u, r.end("the progress of an upload")
}

// Blob returns the blob of a complete upload.
func (u Upload) Blob(id [16]byte) Blob {
	b := Blob{ID: id, Size: u.Size}
	copy(b.SHA256[:], u.State)
	return b
}

// BlobHead says to which record a blob is attached.
type BlobHead struct {
	Owner []byte // the packed id of the record
	Blob
}

// Encode returns the value: (1, the packed id of the record, size, SHA-256).
func (h BlobHead) Encode() []byte {
	b := tuple.AppendBytes(tuple.AppendInt(nil, headFormat), h.Owner)
	return tuple.AppendBytes(tuple.AppendInt(b, h.Size), h.SHA256[:])
}

// DecodeBlobHead reads what [BlobHead.Encode] returns, of the blob with that id.
func DecodeBlobHead(id [16]byte, value []byte) (h BlobHead, err error) {
	r := tupleReader{rest: value}
	r.format(headFormat)
	h.ID, h.Owner = id, read(&r, tuple.ReadBytes)
	h.Size = read(&r, tuple.ReadInt)
	if sum := read(&r, tuple.ReadBytes); r.err == nil && copy(h.SHA256[:], sum) < len(h.SHA256) {
		r.err = errors.New("its checksum is cut off")
	}
	return h, r.end("the head of a blob")
}

// tupleReader reads one element of a packed tuple after the other, up to the first fault.
type tupleReader struct {
	rest []byte
	err  error
}

func (r *tupleReader) format(known int64) { r.rest, r.err = newer.ReadFormat(r.rest, known) }

func read[T any](r *tupleReader, element func([]byte) (T, []byte, error)) (v T) {
	if r.err == nil {
		v, r.rest, r.err = element(r.rest)
	}
	return v
}

// end returns an *[Error] if a value was not one of that kind.
func (r *tupleReader) end(what string) error {
	switch {
	case errors.Is(r.err, newer.Err):
		return newerError("", r.err)
	case r.err != nil:
		return corrupt(what + " is damaged: " + r.err.Error())
	case len(r.rest) > 0:
		return corrupt(what + " is damaged: bytes follow it")
	}
	return nil
}
