// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

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
	return &StreamError{Block: r.number, Offset: r.offset, Reason: reason, Err: err}
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
