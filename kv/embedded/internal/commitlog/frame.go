// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A log segment is a header and frames, all integers little-endian:
//
//	header  magic 8 | segment number 8 | end of the segment before 8 | last version before 8 | CRC 4
//	frame   magic 4 | payload size 4 | version 8 | synced 8 | CRC 4 | payload
//
// A frame's CRC covers its first 24 bytes, the segment's number and the
// payload. synced says up to where the segment had reached the disk for certain
// when the frame was written. A frame without payload and with the version of
// the one before repeats that version only to say so.
//
// Which invalid bytes are damage, and which are the end that a crash has left:
//
//   - What the next segment's header counts to the valid part is damage. So
//     nothing of a log that was closed is taken for torn.
//   - So is what lies below the synced of any valid frame behind it. A log that
//     is not lazy has at most one frame that is not on the disk.
//   - A lazy log may have more. A crash of the machine loses whole sectors of
//     them, in any order; they then read as zeros, because a lazy log always
//     begins with an empty file. Invalid bytes in front of a valid frame are
//     damage unless such a sector is among them.
//   - What is left is torn, and cut off. So damage to the last frame before a
//     crash is taken for torn, unless [Log.Confirm] came after it.
const (
	headerSize    = 36
	FrameHeadSize = 28
	sectorSize    = 512 // what a disk writes whole or not at all
)

var (
	headerMagic = []byte("KZHLOG\x00\x01")
	frameMagic  = []byte{0xf2, 'K', 'Z', 0x01}
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

// header begins a segment.
type header struct {
	number    uint64
	beforeEnd int64 // size of the valid part of the segment before
	before    int64 // last version in the segments before
}

func (h header) append(b []byte) []byte {
	at := len(b)
	b = append(b, headerMagic...)
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.beforeEnd))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.before))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

var errHeader = errors.New("the segment's header is damaged")

func decodeHeader(b []byte, number uint64) (header, error) {
	if len(b) < headerSize || !bytes.HasPrefix(b, headerMagic) {
		return header{}, errHeader
	}
	sum := binary.LittleEndian.Uint32(b[headerSize-4:])
	h := header{
		number:    binary.LittleEndian.Uint64(b[8:]),
		beforeEnd: int64(binary.LittleEndian.Uint64(b[16:])),
		before:    int64(binary.LittleEndian.Uint64(b[24:])),
	}
	if sum != crc32.Checksum(b[:headerSize-4], castagnoli) || h.number != number {
		return header{}, errHeader
	}
	return h, nil
}

// frame is one record of a segment: the writes of one version.
type frame struct {
	version int64
	synced  int64
	payload []byte
}

func (f *frame) end(at int64) int64 { return at + FrameHeadSize + int64(len(f.payload)) }

// sealFrame fills in the head of a frame whose payload begins at frameSize.
func sealFrame(b []byte, number uint64, version, synced int64) {
	copy(b, frameMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-FrameHeadSize))
	binary.LittleEndian.PutUint64(b[8:], uint64(version))
	binary.LittleEndian.PutUint64(b[16:], uint64(synced))
	binary.LittleEndian.PutUint32(b[24:], frameSum(b, number))
}

func frameSum(b []byte, number uint64) uint32 {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], number)
	sum := crc32.Update(0, castagnoli, b[:24])
	sum = crc32.Update(sum, castagnoli, n[:])
	return crc32.Update(sum, castagnoli, b[FrameHeadSize:])
}

// decodeFrame returns the frame that b begins with, and whether it is whole and
// undamaged.
func decodeFrame(b []byte, number uint64) (frame, bool) {
	if len(b) < FrameHeadSize || !bytes.HasPrefix(b, frameMagic) {
		return frame{}, false
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	if size > int64(len(b)-FrameHeadSize) {
		return frame{}, false
	}
	b = b[:FrameHeadSize+size]
	if binary.LittleEndian.Uint32(b[24:]) != frameSum(b, number) {
		return frame{}, false
	}
	f := frame{
		version: int64(binary.LittleEndian.Uint64(b[8:])),
		synced:  int64(binary.LittleEndian.Uint64(b[16:])),
		payload: b[FrameHeadSize:],
	}
	return f, true
}

// syncedBeyond reports whether a frame in data, anywhere behind offset at,
// proves that what is at that offset had reached the disk.
func syncedBeyond(data []byte, at int64, number uint64) bool {
	for next, f := nextFrame(data, at+1, number); f != nil; next, f = nextFrame(data, next+1, number) {
		if f.synced > at {
			return true
		}
	}
	return false
}

// nextFrame returns the first valid frame of data from an offset on, and where it
// begins; nil if there is none.
func nextFrame(data []byte, from int64, number uint64) (at int64, f *frame) {
	for ; from < int64(len(data)); from++ {
		i := bytes.Index(data[from:], frameMagic)
		if i < 0 {
			break
		}
		from += int64(i)
		if f, ok := decodeFrame(data[from:], number); ok {
			return from, &f
		}
	}
	return int64(len(data)), nil
}

// lostSector reports whether a sector, or what is left of it behind begin, is
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
