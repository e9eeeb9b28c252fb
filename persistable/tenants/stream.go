// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Stream is what a stream holds, as far as it was read.
type Stream struct {
	Path     []string // of the tenant when it was exported
	Types    []string // the types of its records
	Version  int64    // of the database at which the export began
	LockID   string   // of the lock under which it was exported; empty: of none
	Complete bool     // the stream has its end
	Progress          // Offset is the end of the last whole block

	*manifest
	position
	number int64
	sum    checksum
}

// Inspect reads a stream and checks each block, without a database. If the stream ends
// before its end, because the export was interrupted, Complete is false, and Offset
// says up to where it is good. Damage is an [ErrStream] with the number and the offset
// of the block; then the result tells of the blocks before it.
func Inspect(r io.Reader) (*Stream, error) {
	in := streamReader{r: r}
	m, err := in.start()
	if err != nil {
		return nil, err
	}
	s := newStream(m, &in)
	for !s.Complete {
		_, err := s.next(&in)
		if errors.Is(err, errTruncated) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func newStream(m *manifest, in *streamReader) *Stream {
	s := &Stream{Path: m.path, Version: m.version, LockID: m.lock, manifest: m, number: in.number, sum: in.sum}
	s.Offset = in.offset
	for _, h := range m.stores {
		s.Types = append(s.Types, h.typ)
	}
	return s
}

// next reads and checks a block of pairs; nil for the end.
func (s *Stream) next(in *streamReader) (*block, error) {
	number, offset := in.number, in.offset
	kind, payload, _, err := in.next()
	if err != nil {
		return nil, err
	}
	b, err := s.accept(kind, payload)
	if err != nil {
		return nil, streamError(number, offset, "it cannot be used", err)
	}
	s.number, s.Offset = in.number, in.offset
	return b, nil
}

func (s *Stream) accept(kind byte, payload []byte) (*block, error) {
	switch kind {
	case kindPairs:
		b, err := decodeBlock(payload)
		if err == nil {
			err = b.check(s.manifest, s.position)
		}
		if err != nil {
			return nil, err
		}
		s.position = position{b.dir, b.last()}
		s.Blocks++
		s.Pairs += int64(len(b.pairs))
		s.Bytes += b.size()
		return b, nil
	case kindEnd:
		want, err := endPayload(s.Progress)
		if err != nil || !bytes.Equal(want, payload) {
			return nil, errors.New("it is the end, but does not agree with the blocks before it")
		}
		s.Complete = true
		return nil, nil
	}
	return nil, errors.New("it is of a kind that is not known")
}

// A stream is the magic and then blocks:
//
//	kind (1 byte), length of the payload (4 bytes, big-endian), payload,
//	CRC-32C (4 bytes, big-endian)
//
// The checksum covers the checksum of the first block (0 in the first itself), the
// number of the block (8 bytes, big-endian), kind, length and payload. So a block that is
// missing, comes twice, or is of another stream is damage, too.
const (
	magic        = "kazahana tenant\n"
	kindManifest = 1
	kindPairs    = 2
	kindEnd      = 3

	frameBytes = 1 + 4 + 4 // around a payload
	maxPayload = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum identifies blocks of one stream.
type checksum struct{ seed uint32 }

func (c checksum) of(number int64, head, payload []byte) uint32 {
	start := binary.BigEndian.AppendUint32(nil, c.seed)
	start = binary.BigEndian.AppendUint64(start, uint64(number))
	sum := crc32.Update(0, castagnoli, start)
	sum = crc32.Update(sum, castagnoli, head)
	return crc32.Update(sum, castagnoli, payload)
}

// streamWriter writes blocks.
type streamWriter struct {
	w      io.Writer
	sum    checksum
	number int64 // of the next block
	offset int64 // of the next block
}

// start writes the magic and the manifest.
func (w *streamWriter) start(m *manifest) error {
	payload, err := m.encode()
	if err != nil {
		return err
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("tenants: the tenant has %d directories and %d stores: too many for a stream", len(m.dirs), len(m.stores))
	}
	if _, err := io.WriteString(w.w, magic); err != nil {
		return err
	}
	w.offset = int64(len(magic))
	w.sum.seed, err = w.write(kindManifest, payload)
	return err
}

// write writes a block, in one call of Write.
func (w *streamWriter) write(kind byte, payload []byte) (sum uint32, err error) {
	frame := make([]byte, 0, frameBytes+len(payload))
	frame = append(frame, kind)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(payload)))
	sum = w.sum.of(w.number, frame, payload)
	frame = append(frame, payload...)
	frame = binary.BigEndian.AppendUint32(frame, sum)
	if _, err := w.w.Write(frame); err != nil {
		return 0, fmt.Errorf("tenants: write block %d at offset %d: %w", w.number, w.offset, err)
	}
	w.number++
	w.offset += int64(len(frame))
	return sum, nil
}

// streamReader reads blocks.
type streamReader struct {
	r      io.Reader
	sum    checksum
	number int64
	offset int64
}

// errTruncated says that the stream ends before its last block.
var errTruncated = errors.New("the stream ends here, before its end: the export was interrupted, or the file was cut off")

func (r *streamReader) damage(reason string, err error) error {
	return streamError(r.number, r.offset, reason, err)
}

// start reads the magic and the manifest.
func (r *streamReader) start() (*manifest, error) {
	begin := make([]byte, len(magic))
	if err := r.fill(begin); err != nil {
		return nil, err
	}
	if string(begin) != magic {
		return nil, r.damage("it does not begin as an exported tenant does", nil)
	}
	r.offset = int64(len(magic))
	kind, payload, sum, err := r.next()
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(payload)
	if err != nil || kind != kindManifest {
		r.number, r.offset = 0, int64(len(magic))
		return nil, r.damage("the first block cannot be used", err)
	}
	r.sum.seed = sum
	return m, nil
}

// fill reads as many bytes as b has.
func (r *streamReader) fill(b []byte) error {
	_, err := io.ReadFull(r.r, b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.damage("it is not complete", errTruncated)
	}
	return fmt.Errorf("tenants: read block %d at offset %d: %w", r.number, r.offset, err)
}

// next reads a block and checks it.
func (r *streamReader) next() (kind byte, payload []byte, sum uint32, err error) {
	var head [5]byte
	if err := r.fill(head[:]); err != nil {
		return 0, nil, 0, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxPayload {
		return 0, nil, 0, r.damage(fmt.Sprintf("it says that it has %d bytes; at most %d are possible", size, maxPayload), nil)
	}
	rest := make([]byte, size+4)
	if err := r.fill(rest); err != nil {
		return 0, nil, 0, err
	}
	payload = rest[:size:size]
	sum = binary.BigEndian.Uint32(rest[size:])
	if sum != r.sum.of(r.number, head[:], payload) {
		return 0, nil, 0, r.damage("its checksum is wrong", nil)
	}
	r.number++
	r.offset += int64(frameBytes + len(payload))
	return head[0], payload, sum, nil
}

// streamError is the [ErrStream] of a block that begins at an offset. err is the cause, or nil.
func streamError(block, offset int64, reason string, err error) error {
	switch {
	case errors.Is(err, persistable.ErrNewer):
		return sentinel.Mark(ErrStream, fmt.Errorf("tenants: the stream cannot be used: %w", err))
	case err != nil:
		return sentinel.Mark(ErrStream, fmt.Errorf("tenants: the stream is damaged at block %d, offset %d: %s: %w", block, offset, reason, err))
	}
	return sentinel.Mark(ErrStream, fmt.Errorf("tenants: the stream is damaged at block %d, offset %d: %s", block, offset, reason))
}

// pairReader reads the pairs of blocks, one after the other.
type pairReader struct {
	next  func() (*block, error)
	block *block        // nil at the end
	pairs []kv.KeyValue // of the block, from the current one on
}

// advance goes on to the next pair.
func (r *pairReader) advance() (err error) {
	if len(r.pairs) > 1 {
		r.pairs = r.pairs[1:]
		return nil
	}
	r.pairs = nil
	if r.block, err = r.next(); r.block != nil {
		r.pairs = r.block.pairs
	}
	return err
}

// differs says in what the current pair differs from that of a stream; "" if in nothing.
func (r *pairReader) differs(stream *pairReader) string {
	switch order := r.comparePlace(stream); {
	case order < 0:
		return "it has " + r.place() + ", the stream does not"
	case order > 0:
		return "it does not have " + stream.place()
	case !bytes.Equal(r.pairs[0].Value, stream.pairs[0].Value):
		return "it has another value for " + r.place()
	}
	return ""
}

// comparePlace compares where two readers are; the end comes last.
func (r *pairReader) comparePlace(other *pairReader) int {
	switch {
	case r.block == nil:
		return 1
	case other.block == nil:
		return -1
	}
	return cmp.Or(cmp.Compare(r.block.dir, other.block.dir), bytes.Compare(r.pairs[0].Key, other.pairs[0].Key))
}

// place names the current key.
func (r *pairReader) place() string {
	return fmt.Sprintf("the key %s of directory %d", strconv.QuoteToASCII(string(r.pairs[0].Key)), r.block.dir)
}
