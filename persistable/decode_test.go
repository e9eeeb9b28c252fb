// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
)

func FuzzDecodeCatalog(f *testing.F) {
	c := &catalog{schema: lockOf(f, "field 1 ID string", "field 2 Total []message(Money)", "message Money", "field 1 Cents int64 was int32")}
	c.setState(&index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}, index.Building)
	good, err := c.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, value []byte) {
		c, err := decodeCatalog(value)
		if err != nil {
			return
		}
		again, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeCatalog(again)
		if err != nil || !back.equal(c) {
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

func FuzzParseHeader(f *testing.F) {
	f.Add(appendHeader(nil, 3, token{1, 2, 3}))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := parseHeader(value)
		if err == nil && (s.chunks > maxChunks || len(s.payload) > len(value)-minHeaderSize) {
			t.Errorf("%q became %+v", value, s)
		}
	})
}

func TestHeader(t *testing.T) {
	for _, chunks := range []int{0, 1, maxChunks} {
		want := storedRecord{chunks: chunks, token: token{9, 8, 7}, payload: []byte("record")}
		got, err := parseHeader(append(appendHeader(nil, chunks, want.token), want.payload...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(storedRecord{})); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if maxChunks >= 128 {
		t.Error("splitRecord relies on one byte for the number of chunks")
	}
}

func TestCatalogOfPrograms(t *testing.T) {
	a := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}
	b := &index.Definition{Name: "T_B", Fields: []string{"B"}, Signature: "int"}
	changed := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "string"}
	lock := lockOf(t, "field 2 B int64", "field 1 A int64")
	c := newCatalog(&place{definitions: []*index.Definition{a, b}, lock: lock})
	for name, got := range map[string]index.State{"a": c.state(a), "b": c.state(b)} {
		if got != index.Readable {
			t.Errorf("%s is %v in a new store", name, got)
		}
	}
	if c.state(changed) != index.Disabled {
		t.Error("a changed index is trusted")
	}
	if c.disableOthers([]*index.Definition{a, b}) || c.addSchema(lockOf(t, "field 1 A int64")) {
		t.Error("what is known changes the header")
	}
	if !c.disableOthers([]*index.Definition{a}) || c.state(b) != index.Disabled || c.state(a) != index.Readable {
		t.Error("an index that a program does not know stays readable")
	}
	if c.disableOthers([]*index.Definition{a}) {
		t.Error("the second write of the program changes the header again")
	}
	if !c.addSchema(lockOf(t, "field 1 A int64", "field 3 C int64")) || len(c.schema.Type().Fields) != 3 || len(lock.Type().Fields) != 2 {
		t.Error("a new field is not added")
	}
}
