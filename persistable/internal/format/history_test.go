// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

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
