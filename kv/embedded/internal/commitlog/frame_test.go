// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// testHeaders are headers of each format.
func testHeaders() []header {
	return []header{{format: oldFormat, number: 7}, {format: format, number: 7, salt: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}}}
}

// sealed returns a frame at an offset.
func sealed(h header, at, version, synced int64, payload string) []byte {
	b := append(make([]byte, FrameHeadSize), payload...)
	h.sealFrame(b, at, version, synced)
	return b
}

// FuzzDecodeFrame decodes anything; only what was sealed is a frame.
func FuzzDecodeFrame(f *testing.F) {
	for _, h := range testHeaders() {
		f.Add(sealed(h, 44, 123, 36, "payload"), int64(44))
	}
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		for _, h := range testHeaders() {
			got, ok := h.decodeFrame(data, at)
			if ok && !bytes.HasPrefix(data, sealed(h, at, got.version, got.synced, string(got.payload))) {
				t.Errorf("%x is a frame that nobody has sealed", data)
			}
		}
	})
}

// TestFramesHaveTheirPlace decodes frames where they were written, and elsewhere.
func TestFramesHaveTheirPlace(t *testing.T) {
	h := newHeader(7, 0, 0)
	b := sealed(h, 100, 5, 44, "payload")
	if _, ok := h.decodeFrame(b, 100); !ok {
		t.Error("a frame is invalid in its place")
	}
	if _, ok := h.decodeFrame(b, 101); ok {
		t.Error("a frame is valid at another offset")
	}
	other, again := h, newHeader(7, 0, 0)
	other.number++
	for name, h := range map[string]header{"another segment": other, "the same number again": again} {
		if _, ok := h.decodeFrame(b, 100); ok {
			t.Errorf("a frame is valid in %s", name)
		}
	}
	for _, h := range testHeaders() {
		if _, ok := h.decodeFrame(sealed(h, 100, 5, 101, "payload"), 100); ok {
			t.Error("a frame is valid that says of bytes behind it that they were on the disk")
		}
	}
}

// TestSearchEnds searches a segment that is full of what may begin a frame of format 1,
// each as long as what is left: the work is bounded, and in format 2 there is none.
func TestSearchEnds(t *testing.T) {
	for _, h := range testHeaders() {
		data := h.append(nil)
		for at := len(data); at < 1<<18; at += 8 {
			data = append(data, oldFrameMagic...)
			data = binary.LittleEndian.AppendUint32(data, uint32(max(0, 1<<18-at-FrameHeadSize)))
		}
		s := newSearch(&content{header: h, data: data}, h.size())
		whole := s.work
		if f := s.next(); f != nil {
			t.Errorf("format %d: a frame is found", h.format)
		}
		if done := whole - s.work; h.format == oldFormat && (s.work >= 0 || done > (searchWork+1)*int64(len(data))) || h.format == format && done > 0 {
			t.Errorf("format %d: %d bytes of %d were checked", h.format, done, len(data))
		}
		fs := vfs.NewMem()
		if err := files.WriteSynced(fs, segmentName(7), data); err != nil {
			t.Fatal(err)
		}
		_, err := Read(Options{FS: fs}, Replay{Apply: func(int64, mutation.Mutation) {}})
		if _, damaged := err.(*fault.CorruptError); damaged != (h.format == oldFormat) {
			t.Errorf("format %d: reading the log: %v", h.format, err)
		}
	}
}

// TestHeaders reads headers of both formats and refuses each other byte.
func TestHeaders(t *testing.T) {
	for _, h := range testHeaders() {
		h.beforeEnd, h.before = 123, 456
		b := h.append(nil)
		if got, err := decodeHeader(append(b, "frames"...)); err != nil || got != h || int64(len(b)) != h.size() {
			t.Errorf("%x is read as %+v, %v", b, got, err)
		}
		for at := range b {
			damaged := bytes.Clone(b)
			damaged[at] ^= 0x41
			if got, err := decodeHeader(damaged); err == nil {
				t.Errorf("%x is read as %+v", damaged, got)
			}
		}
	}
}

func TestFrameSize(t *testing.T) {
	for size, fits := range map[int64]bool{FrameHeadSize: true, FrameHeadSize + 1<<32 - 1: true, FrameHeadSize + 1<<32: false} {
		if err := checkFrameSize(size); (err == nil) != fits {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
}
