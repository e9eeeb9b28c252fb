// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

var aBlob = Blob{ID: [16]byte{1, 2, 3}, Size: 3*BlobChunk + 1, SHA256: [32]byte{9, 8}}

// TestBlobForms: the stored form and the text come back, and no other bytes are taken for them.
func TestBlobForms(t *testing.T) {
	for _, b := range []Blob{{}, aBlob, {ID: [16]byte{1}}} {
		stored := b.Append(nil)
		if got, err := ParseBlob(stored); err != nil || got != b {
			t.Errorf("%x is %v, %v", stored, got, err)
		}
		if got, err := ParseBlobText(b.String()); err != nil || got != b {
			t.Errorf("%s is %v, %v", b, got, err)
		}
	}
	stored := aBlob.Append(nil)
	for _, wrong := range [][]byte{{1}, stored[:20], append(bytes.Clone(stored), 0), append([]byte{2}, stored[1:]...)} {
		if got, err := ParseBlob(wrong); err == nil {
			t.Errorf("%x is %v", wrong, got)
		}
	}
	if n := aBlob.Chunks(); n != 4 {
		t.Errorf("%d chunks, want 4", n)
	}
}

// TestBlobChunk: a chunk is read as that of its blob and its number only, and only whole.
func TestBlobChunk(t *testing.T) {
	b := Blob{ID: [16]byte{1}, Size: BlobChunk + 3}
	value := AppendBlobChunk(nil, b.ID, 1, []byte("abc"))
	if got, err := b.ReadChunk(1, value); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	other := b
	other.ID[0]++
	longer := b
	longer.Size++
	for name, read := range map[string]func() ([]byte, error){
		"another number": func() ([]byte, error) { return b.ReadChunk(0, value) },
		"another blob":   func() ([]byte, error) { return other.ReadChunk(1, value) },
		"another size":   func() ([]byte, error) { return longer.ReadChunk(1, value) },
		"cut off":        func() ([]byte, error) { return b.ReadChunk(1, value[:3]) },
		"changed":        func() ([]byte, error) { return b.ReadChunk(1, append(bytes.Clone(value[:len(value)-1]), 'd')) },
	} {
		if got, err := read(); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestBlobValues: uploads and heads come back; a newer format is said to be newer, other bytes to be damaged.
func TestBlobValues(t *testing.T) {
	up := Upload{Size: 5, Complete: true, State: []byte("state"), Changed: time.UnixMilli(1234)}
	if got, err := DecodeUpload(up.Encode()); err != nil || !reflect.DeepEqual(got, up) {
		t.Errorf("%+v, %v; want %+v", got, err, up)
	}
	h := BlobHead{Owner: []byte{0x15, 1}, Blob: aBlob}
	if got, err := DecodeBlobHead(aBlob.ID, h.Encode()); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v, %v; want %+v", got, err, h)
	}
	next := tuple.AppendString(tuple.AppendInt(nil, 2), "v9.0.0")
	for _, value := range [][]byte{nil, {0}, up.Encode()[:9], append(up.Encode(), 0), next} {
		_, err1 := DecodeUpload(value)
		_, err2 := DecodeBlobHead(aBlob.ID, value)
		for _, err := range []error{err1, err2} {
			if err == nil || bytes.Equal(value, next) != errors.Is(err, newer.Err) {
				t.Errorf("%x: %v", value, err)
			}
		}
	}
}

// FuzzReadBlobs: no record makes it panic, and what it returns is stored in the record.
func FuzzReadBlobs(f *testing.F) {
	fields := []*schema.Field{{Number: 3, Name: "A"}, {Number: 9, Name: "B"}}
	f.Add(append([]byte{3<<3 | 2, 50}, aBlob.Append(nil)...))
	f.Add(wire.AppendBytes([]byte{9<<3 | 2}, aBlob.Append(nil)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := ReadBlobs(payload, fields)
		for _, b := range got {
			if err != nil || b.Blob == (Blob{}) || !bytes.Contains(payload, b.ID[:]) {
				t.Errorf("%x: %v, %v", payload, got, err)
			}
		}
	})
}
