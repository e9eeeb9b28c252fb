// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// A log segment is a header and frames, all integers little-endian:
//
//	header  magic 8 | segment number 8 | end of the segment before 8 | last version before 8 | salt 8 | CRC 4
//	frame   magic 4 | payload size 4 | version 8 | synced 8 | CRC 4 | payload
//
// The salt is random. A frame's magic is its first half, and a frame's CRC covers the
// frame's first 24 bytes, the segment's number, the salt, the frame's offset, and the
// payload. So bytes are a frame only in the place of the segment where it was written,
// whatever values a program stores. synced says up to where the segment had reached the
// disk for certain when the frame was written. A frame without payload and with the
// version of the one before repeats that version only to say so.
//
// Segments of format 1 are read, and no more written. Their header has no salt, their
// frames have one magic, and a CRC without salt and offset: values can look like them.
//
// Which invalid bytes are damage, and which are the end that a crash has left:
//
//   - What the next segment's header counts to the valid part is damage. So
//     nothing of a log that was closed is taken for torn.
//   - So is what lies below the synced of any valid frame after it. A log that
//     is not lazy has at most one frame that is not on the disk.
//   - A lazy log may have more. A crash of the machine loses whole sectors of
//     them, in any order; they then read as zeros, because a lazy log always
//     begins with an empty file. Invalid bytes in front of a valid frame are
//     damage unless such a sector is among them.
//   - So is a header. A file gets the name of a segment when its header is on the
//     disk. Format 1 named it before: there the header of the last segment may be torn,
//     if no frame follows.
//   - What is left is torn, and cut off. So damage to the last frame before a
//     crash is taken for torn, unless [Log.Confirm] came after it.
const (
	headerSize    = 44
	FrameHeadSize = 28
	sectorSize    = 512 // what a disk writes whole or not at all

	oldFormat     = 1
	format        = 2
	oldHeaderSize = 36
)

var (
	headerMagics  = [...]string{oldFormat: "KZHLOG\x00\x01", format: "KZHLOG\x00\x02"}
	oldFrameMagic = []byte{0xf2, 'K', 'Z', 0x01}
	castagnoli    = crc32.MakeTable(crc32.Castagnoli)
)

// header begins a segment.
type header struct {
	format    int
	number    uint64
	beforeEnd int64 // size of the valid part of the segment before
	before    int64 // last version in the segments before
	salt      [8]byte
}

// newHeader returns the header of a segment that is to be written.
func newHeader(number uint64, beforeEnd, before int64) header {
	h := header{format: format, number: number, beforeEnd: beforeEnd, before: before}
	_, _ = rand.Read(h.salt[:]) // it never fails
	return h
}

// size returns how many bytes the header takes.
func (h *header) size() int64 {
	if h.format == oldFormat {
		return oldHeaderSize
	}
	return headerSize
}

func (h *header) append(b []byte) []byte {
	at := len(b)
	b = append(b, headerMagics[h.format]...)
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.beforeEnd))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.before))
	if h.format != oldFormat {
		b = append(b, h.salt[:]...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// newerFormat returns the format of a segment that a newer version wrote, 0 if it did not.
func newerFormat(b []byte) int {
	at := len(headerMagics[format]) - 1
	if len(b) <= at || string(b[:at]) != headerMagics[format][:at] || b[at] <= format {
		return 0
	}
	for f := byte(oldFormat); f <= format; f++ {
		b := bytes.Clone(b[:min(len(b), headerSize)])
		b[at] = f
		if _, err := decodeHeader(b); err == nil {
			return 0 // the byte itself is damaged
		}
	}
	return int(b[at])
}

var errHeader = errors.New("the segment's header is damaged")

// decodeHeader returns the header that b begins with.
func decodeHeader(b []byte) (h header, err error) {
	for h.format = oldFormat; h.format <= format; h.format++ {
		if size := int(h.size()); len(b) >= size && bytes.HasPrefix(b, []byte(headerMagics[h.format])) {
			h.number = binary.LittleEndian.Uint64(b[8:])
			h.beforeEnd = int64(binary.LittleEndian.Uint64(b[16:]))
			h.before = int64(binary.LittleEndian.Uint64(b[24:]))
			if h.format != oldFormat {
				copy(h.salt[:], b[32:])
			}
			if bytes.Equal(b[:size], h.append(nil)) {
				return h, nil
			}
		}
	}
	return header{}, errHeader
}

// frame is one record of a segment: the writes of one version.
type frame struct {
	version int64
	synced  int64
	payload []byte
}

func (f *frame) end(at int64) int64 { return at + FrameHeadSize + int64(len(f.payload)) }

// magic returns what the frames of the segment begin with.
func (h *header) magic() []byte {
	if h.format == oldFormat {
		return oldFrameMagic
	}
	return h.salt[:4]
}

// checkFrameSize returns an error if a frame's head has no room for its payload's size: such
// a frame could not be read.
func checkFrameSize(size int64) error {
	if size -= FrameHeadSize; size > math.MaxUint32 {
		return fmt.Errorf("a record of %d bytes is too large", size)
	}
	return nil
}

// sealFrame fills in the head of a frame at an offset of the segment. Its payload
// begins at FrameHeadSize.
func (h *header) sealFrame(b []byte, at, version, synced int64) {
	copy(b, h.magic())
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-FrameHeadSize))
	binary.LittleEndian.PutUint64(b[8:], uint64(version))
	binary.LittleEndian.PutUint64(b[16:], uint64(synced))
	binary.LittleEndian.PutUint32(b[24:], h.frameSum(b, at))
}

func (h *header) frameSum(b []byte, at int64) uint32 {
	place := binary.LittleEndian.AppendUint64(make([]byte, 0, 24), h.number)
	if h.format != oldFormat {
		place = append(place, h.salt[:]...)
		place = binary.LittleEndian.AppendUint64(place, uint64(at))
	}
	sum := crc32.Update(0, castagnoli, b[:24])
	sum = crc32.Update(sum, castagnoli, place)
	return crc32.Update(sum, castagnoli, b[FrameHeadSize:])
}

// decodeFrame returns the frame at an offset of the segment, which b begins with, and
// whether it is whole and undamaged.
func (h *header) decodeFrame(b []byte, at int64) (frame, bool) {
	size := h.claimedSize(b)
	if size < 0 {
		return frame{}, false
	}
	b = b[:size]
	if binary.LittleEndian.Uint32(b[24:]) != h.frameSum(b, at) {
		return frame{}, false
	}
	f := frame{
		version: int64(binary.LittleEndian.Uint64(b[8:])),
		synced:  int64(binary.LittleEndian.Uint64(b[16:])),
		payload: b[FrameHeadSize:],
	}
	return f, f.synced <= at
}

// claimedSize returns the size that a frame at the beginning of b says it has, -1 if
// there is none of that size.
func (h *header) claimedSize(b []byte) int64 {
	if len(b) < FrameHeadSize || !bytes.HasPrefix(b, h.magic()) {
		return -1
	}
	size := FrameHeadSize + int64(binary.LittleEndian.Uint32(b[4:]))
	if size > int64(len(b)) {
		return -1
	}
	return size
}

// search finds the valid frames of a segment after invalid bytes. In a segment of
// format 1, values that look like frames can make it check the same bytes again and
// again, so it ends after some work.
type search struct {
	*content
	at   int64 // of the frame that was found last; before it, of the invalid bytes
	work int64 // bytes of frames that may still be checked
}

// searchWork is how often, on average, a search may check each byte of a segment.
const searchWork = 16

func newSearch(c *content, at int64) *search {
	return &search{content: c, at: at, work: searchWork * int64(len(c.data))}
}

// next returns the next valid frame, nil if there is none or the search was given up.
func (s *search) next() *frame {
	for s.at++; s.at < int64(len(s.data)); s.at++ {
		i := bytes.Index(s.data[s.at:], s.magic())
		if i < 0 {
			break
		}
		s.at += int64(i)
		if s.work -= max(0, s.claimedSize(s.data[s.at:])); s.work < 0 {
			return nil
		}
		if f, ok := s.decodeFrame(s.data[s.at:], s.at); ok {
			return &f
		}
	}
	return nil
}

// lostSector reports whether a sector, or what is left of it after begin, is
// zero between begin and end.
func lostSector(data []byte, begin, end int64) bool {
	for begin < end {
		next := (begin/sectorSize + 1) * sectorSize
		if next <= end && len(bytes.TrimLeft(data[begin:next], "\x00")) == 0 {
			return true
		}
		begin = next
	}
	return false
}

// The writes in a frame's payload, one after another: a kind, then one or two
// strings of bytes, each after its length as a varint.
const (
	kindClear      = 0 // key
	kindSet        = 1 // key, value
	kindClearRange = 2 // begin, end
)

// AppendMutation encodes a resolved mutation: a set, a clear or a range clear.
func AppendMutation(b []byte, m *mutation.Mutation) []byte {
	switch {
	case m.Op == mutation.OpClearRange:
		return appendString(appendString(append(b, kindClearRange), m.Key), m.Value)
	case m.Value == nil:
		return appendString(append(b, kindClear), m.Key)
	}
	return appendString(appendString(append(b, kindSet), m.Key), m.Value)
}

func appendString(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errPayload = errors.New("the payload is malformed")

// decodeChanges calls apply with each mutation of a payload, in order. The
// mutations do not share the payload's memory.
func decodeChanges(payload []byte, apply func(mutation.Mutation)) error {
	for len(payload) > 0 {
		kind := payload[0]
		if kind > kindClearRange {
			return fmt.Errorf("%w: no kind of write has the number %d", errPayload, kind)
		}
		key, rest, ok := cutString(payload[1:])
		m := mutation.Mutation{Op: mutation.OpSet, Key: key}
		if ok && kind != kindClear {
			m.Value, rest, ok = cutString(rest)
		}
		if !ok {
			return fmt.Errorf("%w: it ends in the middle of a write", errPayload)
		}
		if kind == kindClearRange {
			m.Op = mutation.OpClearRange
		}
		apply(m)
		payload = rest
	}
	return nil
}

// cutString takes a copy of the string that b begins with.
func cutString(b []byte) (s, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return keys.Own(b[n:end]), b[end:], true
}
