// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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
			t.Error("a frame is valid although it says that bytes after it were on the disk")
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

// exampleWrites are what the example of a segment holds, by version.
var exampleWrites = map[int64][]mutation.Mutation{
	1_000_042: {
		{Op: mutation.OpSet, Key: []byte("a"), Value: []byte("one")},
		{Op: mutation.OpSet, Key: []byte("b")}, // a clear
		{Op: mutation.OpSet, Key: []byte(""), Value: []byte("")},
	},
	1_000_099: {
		{Op: mutation.OpClearRange, Key: []byte("c"), Value: []byte("d\xff")},
		{Op: mutation.OpSet, Key: bytes.Repeat([]byte("k"), 200), Value: []byte{0, 0xff}},
	},
}

// exampleSegment returns a header and frames, in hexadecimal: two versions, and one that says
// that they are on the disk.
func exampleSegment(h header) string {
	data := h.append(nil)
	lines := hex.EncodeToString(data) + "\n"
	add := func(version, synced int64, payload []byte) {
		f := sealed(h, int64(len(data)), version, synced, string(payload))
		data = append(data, f...)
		lines += hex.EncodeToString(f) + "\n"
	}
	for _, version := range []int64{1_000_042, 1_000_099} {
		var payload []byte
		for _, m := range exampleWrites[version] {
			payload = AppendMutation(payload, &m)
		}
		add(version, h.size(), payload)
	}
	add(1_000_099, int64(len(data)), nil)
	return lines
}

// TestFormats reads segments of each format, and writes that of today.
func TestFormats(t *testing.T) {
	h := header{format: format, number: 7, beforeEnd: 4096, before: 1_000_000, salt: [8]byte([]byte("saltPEPR"))}
	formats.Check(t, formats.Format{
		Name:  "embedded/log",
		Write: func(*testing.T) string { return exampleSegment(h) },
		Read:  readExample,
	})
}

// readExample checks the content of a segment.
func readExample(t *testing.T, example string) {
	data, err := hex.DecodeString(strings.ReplaceAll(example, "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	if err := files.WriteSynced(fs, "000007.log", data); err != nil {
		t.Fatal(err)
	}
	got := map[int64][]string{}
	l, err := Read(Options{FS: fs}, Replay{Above: 1_000_000, Apply: func(version int64, m mutation.Mutation) {
		got[version] = append(got[version], fmt.Sprintf("%d %q %#v", m.Op, m.Key, m.Value))
	}})
	if err != nil {
		t.Fatal(err)
	}
	for version, writes := range exampleWrites {
		var want []string
		for _, m := range writes {
			want = append(want, fmt.Sprintf("%d %q %#v", m.Op, m.Key, m.Value))
		}
		if !slices.Equal(got[version], want) {
			t.Errorf("version %d has %s, want %s", version, got[version], want)
		}
	}
	if len(got) != len(exampleWrites) || l.LastVersion() != 1_000_099 || l.TornBytes() != 0 {
		t.Errorf("%d versions up to %d, and %d torn bytes", len(got), l.LastVersion(), l.TornBytes())
	}
}

func appendChanges(b []byte, changes []mutation.Mutation) []byte {
	for i := range changes {
		b = AppendMutation(b, &changes[i])
	}
	return b
}

// FuzzDecodeChanges decodes anything; what decodes comes out again the same.
func FuzzDecodeChanges(f *testing.F) {
	f.Add(appendChanges(nil, []mutation.Mutation{
		{Op: mutation.OpSet, Key: []byte("key"), Value: []byte("value")},
		{Op: mutation.OpSet, Key: []byte{}, Value: []byte{}},
		{Op: mutation.OpSet, Key: []byte("cleared")},
		{Op: mutation.OpClearRange, Key: []byte("a"), Value: []byte("b")},
	}))
	f.Add([]byte{kindSet, 200, 1})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, data []byte) {
		decode := func(data []byte) (changes []mutation.Mutation, err error) {
			err = decodeChanges(data, func(m mutation.Mutation) { changes = append(changes, m) })
			return changes, err
		}
		changes, err := decode(data)
		if err != nil {
			if !errors.Is(err, errPayload) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := decode(appendChanges(nil, changes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, again, cmp.AllowUnexported(mutation.Mutation{})); diff != "" {
			t.Errorf("decoded again (-want +got):\n%s", diff)
		}
	})
}
