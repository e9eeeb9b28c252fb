// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/tuple"
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

// TestRecountsOfCatalogs: a header has the recount of an index while the index is readable
// in the same layout, and the history does not tell of it.
func TestRecountsOfCatalogs(t *testing.T) {
	count := &index.Definition{Name: "T_count_A", Kind: index.Count, Fields: []string{"A"}, Signature: "int"}
	changed := &index.Definition{Name: "T_count_A", Kind: index.Count, Fields: []string{"A"}, Signature: "string"}
	without := NewCatalog(lockOf(t, "field 1 A int64"), 0, []*index.Definition{count})
	with := without.Clone()
	with.AddRecount(count)
	with.AddRecount(count)
	if names := with.LostRecounts(without); !slices.Equal(names, []string{"T_count_A~recount"}) || with.State(count.Recount()) != index.Disabled {
		t.Fatalf("the recounts are %v", names)
	}
	if !with.Describes(without) || len(with.Indexes()) != 1 {
		t.Error("the history tells of a recount")
	}
	for name, c := range map[string]struct {
		change func(*Catalog)
		stays  bool
	}{
		"nothing":         {func(c *Catalog) { c.SetState(count, index.Readable) }, true},
		"recount built":   {func(c *Catalog) { c.SetState(count.Recount(), index.Building) }, true},
		"disabled":        {func(c *Catalog) { c.SetState(count, index.Disabled) }, false},
		"another layout":  {func(c *Catalog) { c.SetState(changed, index.Readable) }, false},
		"unused":          {func(c *Catalog) { c.RemoveUnused([]*index.Definition{count}) }, false},
		"disabled before": {func(c *Catalog) { c.SetState(count, index.Disabled); c.AddRecount(count) }, false},
	} {
		next := with.Clone()
		if c.change(next); (len(with.LostRecounts(next)) == 0) != c.stays {
			t.Errorf("%s: the recount stays: %v", name, !c.stays)
		}
	}
}

// TestFormerHeaders: the bytes of a former header, and what is none.
func TestFormerHeaders(t *testing.T) {
	c := &Catalog{schema: lockOf(t, "field 1 ID string")}
	c.SetState(&index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}, index.Building)
	header, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	until := time.UnixMilli(1_750_000_000_123)
	value, err := Former{until, c}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := (tuple.Tuple{int64(1), int64(1_750_000_000_123), header}).MustPack(); hex.EncodeToString(value) != hex.EncodeToString(want) {
		t.Errorf("the value is %x, want %x", value, want)
	}
	back, err := DecodeFormer(value)
	if err != nil || !back.Until.Equal(until) || !back.Catalog.Equal(c) {
		t.Errorf("decoded %+v, %v", back, err)
	}
	for name, bad := range map[string][]byte{
		"nothing":          nil,
		"another format":   tuple.Tuple{int64(2), int64(0), header}.MustPack(),
		"no header":        tuple.Tuple{int64(1), int64(0)}.MustPack(),
		"a wrong time":     tuple.Tuple{int64(1), "now", header}.MustPack(),
		"a damaged header": tuple.Tuple{int64(1), int64(0), []byte("x")}.MustPack(),
		"cut short":        value[:len(value)/2],
	} {
		var e *Error
		if got, err := DecodeFormer(bad); !errors.As(err, &e) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestDescribes: states are no part of what a header describes.
func TestDescribes(t *testing.T) {
	d := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "int"}
	c := &Catalog{schema: lockOf(t, "field 1 ID string")}
	c.SetState(d, index.Building)
	same, other, wider := c.Clone(), c.Clone(), &Catalog{schema: lockOf(t, "field 1 ID string", "field 2 B int8"), indexes: c.indexes}
	same.SetState(d, index.Readable)
	other.SetState(&index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "string"}, index.Building)
	if !c.Describes(same) || c.Describes(other) || c.Describes(wider) {
		t.Errorf("another state %v, another layout %v, another schema %v", c.Describes(same), c.Describes(other), c.Describes(wider))
	}
}

// TestDamagedCatalog says of damaged headers what is wrong, and what to do.
func TestDamagedCatalog(t *testing.T) {
	const text = "type T\norigin example.com/t\nid int\ndirectory \"t\"\nfield 1 ID id\n"
	indexes := tuple.Tuple{tuple.Tuple{"T_A", "A:int", 2}, tuple.Tuple{"T_count_A~recount", "A:int:kind=count", 0}}
	c, err := DecodeCatalog(tuple.Tuple{1, indexes, text}.MustPack())
	if err != nil || len(c.All()) != 2 || c.All()[0] != (IndexEntry{"T_A", "A:int", index.Readable}) {
		t.Errorf("%+v, %v", c, err)
	}
	for want, value := range map[string][]byte{
		"damaged":         {0xff},
		"of format 3":     tuple.Tuple{3, "v0.9.0", indexes, text}.MustPack(),
		"schema cannot":   tuple.Tuple{1, indexes, "type T\nfield zero\n"}.MustPack(),
		"header is dam":   tuple.Tuple{1, tuple.Tuple{"T_A"}, text}.MustPack(),
		"it is not text":  tuple.Tuple{1, indexes, 7}.MustPack(),
		"the store's hea": tuple.Tuple{1, indexes, text, 4}.MustPack(),
	} {
		_, err := DecodeCatalog(value)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, want) || wrong.Remedy == "" {
			t.Errorf("%q: %v", want, err)
		}
	}
}
