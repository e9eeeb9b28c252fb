// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/schema"
)

func FuzzDecodeCatalog(f *testing.F) {
	c := &Catalog{schema: lockOf(f, "field 1 ID string", "field 2 Total []message(Money)", "message Money", "field 1 Cents int64 was int32")}
	c.SetState(&index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}, index.Building)
	good, err := c.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, value []byte) {
		c, err := DecodeCatalog(value)
		if err != nil {
			return
		}
		if c.CheckWritable() != nil {
			return // it is not written
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeCatalog(again)
		if err != nil || !back.Equal(c) {
			t.Errorf("%q was decoded as %+v, and that as %+v, %v", value, c, back, err)
		}
	})
}

// lockOf parses the text of a type T.
func lockOf(t testing.TB, lines ...string) *schema.Schema {
	t.Helper()
	s, err := schema.ParseType("type T\n" + strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzParseRecord(f *testing.F) {
	f.Add(append([]byte{recordFormat, 3}, 1, 2, 3, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := ParseRecord(value)
		if err == nil && (s.Chunks > maxChunks || len(s.Payload) > len(value)-HeaderSize) {
			t.Errorf("%q became %+v", value, s)
		}
	})
}

// header returns the value of a record with so many further chunks.
func header(chunks int, r Record) []byte {
	b := binary.AppendUvarint([]byte{recordFormat}, uint64(chunks))
	return slices.Concat(b, r.Token[:], r.Payload)
}

func TestHeader(t *testing.T) {
	for _, chunks := range []int{0, 1, maxChunks} {
		want := Record{Chunks: chunks, Token: Token{9, 8, 7}, Payload: []byte("record")}
		got, err := ParseRecord(header(chunks, want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if maxChunks >= 128 {
		t.Error("splitRecord relies on one byte for the number of chunks")
	}
}

// TestNeedsOfCatalogs: a header without needs has the bytes that it always had; one with needs has
// a format that earlier programs refuse, is read as far as it may be, and is never
// written without what this program does not know.
func TestNeedsOfCatalogs(t *testing.T) {
	c := NewCatalog(lockOf(t, "field 1 A int64"), 0, nil)
	plain, err := c.Encode()
	if err != nil || plain[0] != 0x15 || plain[1] != 1 {
		t.Fatalf("%x, %v", plain, err)
	}
	c.schema.Needs = []newer.Need{{Name: "enum", Since: "v0.9.0", Read: true}}
	value, err := c.encode()
	if err != nil || value[0] != 0x15 || value[1] != 2 {
		t.Fatalf("%x, %v", value, err)
	}
	got, err := DecodeCatalog(value)
	if err != nil || got.schema.Text() != c.schema.Text() {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := got.Encode(); !errors.Is(err, newer.Err) {
		t.Errorf("a header that this program would change: %v", err)
	}
	if got.Clone().Equal(NewCatalog(lockOf(t, "field 1 A int64"), 0, nil)) {
		t.Error("headers with different needs are equal")
	}
	c.schema.Needs[0].Read = false
	if value, err = c.encode(); err != nil {
		t.Fatal(err)
	}
	var wrong *Error
	if _, err = DecodeCatalog(value); !errors.As(err, &wrong) || !errors.Is(err, newer.Err) || wrong.Remedy != "run version v0.9.0 or later" {
		t.Errorf("a header that must not be read: %v", err)
	}
}

func TestCatalogOfPrograms(t *testing.T) {
	a := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}
	b := &index.Definition{Name: "T_B", Fields: []string{"B"}, Signature: "int"}
	changed := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "string"}
	lock := lockOf(t, "field 2 B int64", "field 1 A int64")
	c := NewCatalog(lock, 0, []*index.Definition{a, b})
	for name, got := range map[string]index.State{"a": c.State(a), "b": c.State(b)} {
		if got != index.Readable {
			t.Errorf("%s is %v in a new store", name, got)
		}
	}
	if c.State(changed) != index.Disabled {
		t.Error("a changed index is trusted")
	}
	if len(c.Foreign([]*index.Definition{a, b})) > 0 || c.AddSchema(lockOf(t, "field 1 A int64")) {
		t.Error("what is known is foreign or changes the header")
	}
	want := []ForeignIndex{{"T_A", "A:int", index.Readable}, {"T_B", "B:int", index.Readable}}
	if diff := cmp.Diff(want, c.Foreign([]*index.Definition{changed})); diff != "" {
		t.Errorf("the foreign indexes of another program (-want +got):\n%s", diff)
	}
	if !c.AddSchema(lockOf(t, "field 1 A int64", "field 3 C int64")) || len(c.schema.Type().Fields) != 3 || len(lock.Type().Fields) != 2 {
		t.Error("a new field is not added")
	}
}
