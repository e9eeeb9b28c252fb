// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// BlobChunk is the size of the chunks of a blob's content in bytes; the last one may be shorter.
const BlobChunk = 1 << 16

// Blob is what a record has of a blob. The zero Blob is none, and is not stored.
type Blob struct {
	ID     [16]byte
	Size   int64 // of the content, in bytes
	SHA256 [sha256.Size]byte
}

// blobFormat is the first byte of a stored blob.
const blobFormat = 1

// Append appends the stored form: a byte for the format, the id, the SHA-256 of the content, and its
// size as a uvarint. It appends nothing for the zero Blob.
func (b Blob) Append(to []byte) []byte {
	if b == (Blob{}) {
		return to
	}
	to = append(append(append(to, blobFormat), b.ID[:]...), b.SHA256[:]...)
	return binary.AppendUvarint(to, uint64(b.Size))
}

var errBlob = errors.New("the bytes are not a blob")

// ParseBlob reads what [Blob.Append] appends.
func ParseBlob(stored []byte) (b Blob, err error) {
	if len(stored) == 0 {
		return b, nil
	}
	rest := stored[1:]
	if stored[0] > blobFormat {
		return b, newerError("the blob: ", newer.Format(int64(stored[0]), blobFormat, ""))
	}
	if stored[0] != blobFormat || len(rest) < len(b.ID)+len(b.SHA256) {
		return b, errBlob
	}
	rest = rest[copy(b.ID[:], rest):]
	rest = rest[copy(b.SHA256[:], rest):]
	size, n := binary.Uvarint(rest)
	if b.Size = int64(size); n <= 0 || n < len(rest) || b.Size < 0 || !bytes.Equal(b.Append(nil), stored) {
		return Blob{}, errBlob
	}
	return b, nil
}

// String returns the text of the blob: the id, the size and the SHA-256, joined by hyphens; "" for the
// zero Blob.
func (b Blob) String() string {
	if b == (Blob{}) {
		return ""
	}
	return fmt.Sprintf("%x-%d-%x", b.ID, b.Size, b.SHA256)
}

var errBlobText = errors.New("it is not the text of a blob, ID-SIZE-SHA256")

// ParseBlobText reads what [Blob.String] returns.
func ParseBlobText(text string) (b Blob, err error) {
	if text == "" {
		return b, nil
	}
	parts := strings.Split(text, "-")
	if len(parts) != 3 {
		return b, errBlobText
	}
	id, err1 := hex.DecodeString(parts[0])
	size, err2 := strconv.ParseInt(parts[1], 10, 64)
	sum, err3 := hex.DecodeString(parts[2])
	if err1 != nil || err2 != nil || err3 != nil || len(id) != len(b.ID) || len(sum) != len(b.SHA256) {
		return b, errBlobText
	}
	b.Size = size
	copy(b.ID[:], id)
	copy(b.SHA256[:], sum)
	if b.Size < 0 || b.String() != text {
		return Blob{}, errBlobText
	}
	return b, nil
}

// Chunks returns how many chunks the content has.
func (b Blob) Chunks() int64 { return b.Size/BlobChunk + min(b.Size%BlobChunk, 1) }

// chunkSize returns the size of the n-th chunk, from 0.
func (b Blob) chunkSize(n int64) int { return int(min(b.Size-n*BlobChunk, BlobChunk)) }

// AppendBlobChunk appends the value of the n-th chunk: a CRC-32C of the id, n and the content, and the
// content.
func AppendBlobChunk(to []byte, id [16]byte, n int64, content []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, chunkSum(id, n, content)), content...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func chunkSum(id [16]byte, n int64, content []byte) uint32 {
	of := binary.BigEndian.AppendUint64(id[:], uint64(n))
	return crc32.Update(crc32.Checksum(of, castagnoli), castagnoli, content)
}

// ReadBlobChunk returns the content of a value that [AppendBlobChunk] made.
func ReadBlobChunk(id [16]byte, n int64, value []byte) (content []byte, err error) {
	if len(value) < crc32.Size {
		return nil, fmt.Errorf("it has %d bytes", len(value))
	}
	content = value[crc32.Size:]
	if binary.BigEndian.Uint32(value) != chunkSum(id, n, content) {
		return nil, errors.New("its checksum is wrong")
	}
	return content, nil
}

// ReadChunk returns the content of the value of the n-th chunk of the blob.
func (b Blob) ReadChunk(n int64, value []byte) (content []byte, err error) {
	content, err = ReadBlobChunk(b.ID, n, value)
	if want := b.chunkSize(n); err == nil && len(content) != want {
		return nil, fmt.Errorf("it has %d bytes of content instead of %d", len(content), want)
	}
	return content, err
}

// FieldBlob is a blob and the name of the field that refers to it.
type FieldBlob struct {
	Field string
	Blob
}

// BlobFields returns the fields of the type that refer to blobs.
func BlobFields(s *schema.Schema) (fields []*schema.Field) {
	for _, f := range s.Type().Fields {
		if f.Kind == schema.BlobKind {
			fields = append(fields, f)
		}
	}
	return fields
}

// ReadBlobs returns the blobs to which a record refers by these fields.
func ReadBlobs(payload []byte, fields []*schema.Field) (blobs []FieldBlob, err error) {
	stored := make([][]byte, len(fields))
	r := wire.NewReader(payload)
	for r.Next() {
		i := 0
		for i < len(fields) && fields[i].Number != r.Field() {
			i++
		}
		if i == len(fields) {
			r.Skip()
			continue
		}
		stored[i] = r.Message() // of a field that comes twice, the last one counts
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	for i, f := range fields {
		b, err := ParseBlob(stored[i])
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if b != (Blob{}) {
			blobs = append(blobs, FieldBlob{f.Name, b})
		}
	}
	return blobs, nil
}

// Fault says why the content of a blob is not that of the record with a packed id, by the values of the
// head and of the last chunk; "" if it is.
func (b FieldBlob) Fault(owner, head, last []byte) string {
	if head == nil {
		return "the content of " + b.Field + " is not there"
	}
	h, err := DecodeBlobHead(b.ID, head)
	switch {
	case err != nil:
		return "the content of " + b.Field + ": " + err.Error()
	case !bytes.Equal(h.Owner, owner):
		return "the content of " + b.Field + " belongs to the record " + tuple.Describe(h.Owner)
	case h.Blob != b.Blob:
		return "the content of " + b.Field + " has another size or SHA-256"
	case b.Size > 0 && last == nil:
		return "the content of " + b.Field + " is not complete: its last chunk is missing"
	}
	return ""
}
