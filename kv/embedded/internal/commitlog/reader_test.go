// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// readSegments reads a log of segments 7, 8 and so on with these contents.
func readSegments(t *testing.T, contents ...[]byte) (*Log, error) {
	t.Helper()
	fs := vfs.NewMem()
	for i, content := range contents {
		// With the race detector Pebble changes what it has written.
		if err := files.WriteSynced(fs, segmentName(uint64(7+i)), bytes.Clone(content)); err != nil {
			t.Fatal(err)
		}
	}
	return Read(Options{FS: fs}, Replay{Apply: func(int64, mutation.Mutation) {}})
}

// TestNewerFormat reads segments whose headers are of another format: that of a newer
// version is not damage, and damage is not a newer format.
func TestNewerFormat(t *testing.T) {
	for _, h := range testHeaders() {
		whole := h.append(nil)
		for version := range 256 {
			b := bytes.Clone(whole)
			b[7] = byte(version)
			if _, err := readSegments(t, b); errors.As(err, new(*fault.FormatError)) {
				t.Errorf("format %d with the version damaged to %d: %v", h.format, version, err)
			}
			b = append(b[:len(b)-1], b[len(b)-1]^1) // a checksum that is not of this layout
			_, err := readSegments(t, b)
			if newer := errors.As(err, new(*fault.FormatError)); newer != (version > format) {
				t.Errorf("a segment of format %d: %v", version, err)
			}
		}
	}
	_, err := readSegments(t, []byte("KZHLOG\x00\x09 and what format 9 has"))
	if err == nil || !strings.Contains(err.Error(), "000007.log: its format is 9") {
		t.Errorf("a segment of format 9: %v", err)
	}
}

// TestImpossibleEnds reads headers that say where the segment before them ends, with a
// good checksum, and cannot be true.
func TestImpossibleEnds(t *testing.T) {
	for _, h := range testHeaders() {
		first := append(h.append(nil), sealed(h, h.size(), 1, 0, "")...)
		for _, end := range []int64{-1 << 63, -1, 0, 1, h.size() - 1, int64(len(first)) + 1, 1<<63 - 1} {
			next := newHeader(h.number+1, end, 1)
			_, err := readSegments(t, first, next.append(nil))
			if !errors.As(err, new(*fault.CorruptError)) {
				t.Errorf("format %d: the segment ends at %d: %v", h.format, end, err)
			}
		}
	}
}

// FuzzRead reads two segments with any headers and frames, whose checksums fit.
func FuzzRead(f *testing.F) {
	for _, h := range testHeaders() {
		first := append(h.append(nil), sealed(h, h.size(), 1, 0, "")...)
		next := newHeader(h.number+1, int64(len(first)), 1)
		f.Add(first, next.append(nil))
		f.Add(first, append(next.append(nil), sealed(next, headerSize, 5, 44, "payload")...))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		fixHeader(first)
		fixHeader(second)
		l, err := readSegments(t, first, second)
		if err == nil && (l.size > int64(len(second)) || l.torn < 0 || int64(len(l.unproven)) > l.size) {
			t.Errorf("the log ends at %d of %d bytes, %d are torn, and %d may not be on the disk", l.size, len(second), l.torn, len(l.unproven))
		}
	})
}

// fixHeader makes the checksum of a segment's header fit.
func fixHeader(b []byte) {
	for _, h := range testHeaders() {
		if end := int(h.size()) - 4; len(b) >= end+4 && bytes.HasPrefix(b, []byte(headerMagics[h.format])) {
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
		}
	}
}
