// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens"
)

// golden is one recorded answer of FoundationDB's official Go tuple layer.
type golden struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	Elements   []goldenElement `json:"elements"`
	Unpacked   []goldenElement `json:"unpacked"` // where other types come back than went in
	Packed     hexBytes        `json:"packed"`
	Prefix     hexBytes        `json:"prefix"`
	RangeBegin *hexBytes       `json:"range_begin"`
	RangeEnd   *hexBytes       `json:"range_end"`
	Offset     int             `json:"versionstamp_offset"`
	Sorted     []goldenKey     `json:"sorted"`
	Result     string          `json:"result"`
}

type goldenKey struct {
	Elements []goldenElement `json:"elements"`
	Packed   hexBytes        `json:"packed"`
}

type goldenElement struct {
	Type  string          `json:"t"`
	Value string          `json:"v"`
	Items []goldenElement `json:"items"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func goldenTuple(t *testing.T, elements []goldenElement) Tuple {
	t.Helper()
	out := make(Tuple, len(elements))
	for i, e := range elements {
		v, err := e.value(t)
		if err != nil {
			t.Fatalf("element %d (%s %q): %v", i, e.Type, e.Value, err)
		}
		out[i] = v
	}
	return out
}

// value returns the element as a value of this package.
func (e goldenElement) value(t *testing.T) (any, error) {
	t.Helper()
	switch e.Type {
	case "nil":
		return nil, nil
	case "int64":
		return strconv.ParseInt(e.Value, 10, 64)
	case "uint64":
		return strconv.ParseUint(e.Value, 10, 64)
	case "bigint":
		v, ok := new(big.Int).SetString(e.Value, 10)
		if !ok {
			return nil, strconv.ErrSyntax
		}
		return v, nil
	case "float":
		bits, err := strconv.ParseUint(e.Value, 16, 32)
		return math.Float32frombits(uint32(bits)), err
	case "double":
		bits, err := strconv.ParseUint(e.Value, 16, 64)
		return math.Float64frombits(bits), err
	case "bool":
		return strconv.ParseBool(e.Value)
	case "tuple":
		return goldenTuple(t, e.Items), nil
	}
	return e.octets()
}

// octets returns an element that is recorded as bytes.
func (e goldenElement) octets() (any, error) {
	b, err := hex.DecodeString(e.Value)
	switch {
	case err != nil:
		return nil, err
	case e.Type == "bytes":
		return b, nil
	case e.Type == "string":
		return string(b), nil
	case e.Type == "uuid" && len(b) == 16:
		return UUID(b), nil
	case e.Type == "versionstamp" && len(b) == 12:
		return Versionstamp{Transaction: [10]byte(b), User: uint16(b[10])<<8 | uint16(b[11])}, nil
	}
	return nil, strconv.ErrSyntax
}

func readGoldens(t *testing.T) []golden {
	t.Helper()
	var out []golden
	lines := bufio.NewScanner(goldens.Trace(t, "tuple"))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatalf("line %d: %v", len(out)+1, err)
		}
		out = append(out, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGoldens(t *testing.T) {
	checks := map[string]func(*testing.T, golden){
		"pack":              checkPack,
		"pack_versionstamp": checkPackVersionstamp,
		"unpack":            checkUnpack,
		"sorted":            checkSorted,
		"subspace":          checkSubspace,
		"subspace_unpack":   checkSubspaceUnpack,
	}
	count := map[string]int{}
	for _, g := range readGoldens(t) {
		check, ok := checks[g.Kind]
		if !ok {
			t.Fatalf("%s: unknown kind %q", g.Name, g.Kind)
		}
		count[g.Kind]++
		t.Run(g.Name, func(t *testing.T) { check(t, g) })
	}
	for kind := range checks {
		if count[kind] == 0 {
			t.Errorf("no vector of kind %q was checked", kind)
		}
	}
	t.Logf("vectors checked: %v", count)
}

func checkPack(t *testing.T, g golden) {
	in := goldenTuple(t, g.Elements)
	packed, err := in.Pack()
	if g.Result != "ok" {
		if err == nil {
			t.Fatalf("Pack(%v) = %x, want an error", in, packed)
		}
		return
	}
	wantBytes(t, "Pack", packed, err, g.Packed)
	if g.RangeBegin != nil {
		begin, end, err := in.Range()
		wantBytes(t, "begin of Range", begin, err, *g.RangeBegin)
		wantBytes(t, "end of Range", end, err, *g.RangeEnd)
	}
	back := g.Elements
	if g.Unpacked != nil {
		back = g.Unpacked
	}
	wantTuple(t, packed, goldenTuple(t, back))
}

func checkPackVersionstamp(t *testing.T, g golden) {
	in := goldenTuple(t, g.Elements)
	packed, err := in.PackVersionstamped(g.Prefix)
	if g.Result != "ok" {
		if err == nil {
			t.Fatalf("PackVersionstamped(%v) = %x, want an error", in, packed)
		}
		return
	}
	wantBytes(t, "PackVersionstamped", packed, err, g.Packed)
	if !bytes.HasPrefix(packed[g.Offset:], unknownTransaction[:]) {
		t.Errorf("no placeholder at the recorded offset %d of %x", g.Offset, packed)
	}
	wantTuple(t, packed[len(g.Prefix):len(packed)-stampOffsetSize], in)
}

func checkUnpack(t *testing.T, g golden) {
	got, err := Unpack(g.Packed)
	switch {
	case g.Result != "ok" && err == nil:
		t.Errorf("Unpack(%x) = %v, want an error", []byte(g.Packed), got)
	case g.Result == "ok" && err != nil:
		checkOverread(t, g, err)
	case g.Result == "ok":
		wantTuple(t, g.Packed, goldenTuple(t, g.Elements))
	}
}

// checkOverread is about keys that end inside an integer. The official layer
// takes its missing bytes from whatever memory lies after the key, if the
// slice's capacity reaches there, and so may return an integer that is not in the
// key. Such a key must be refused, and must be accepted as what was recorded
// once the bytes that were found there are part of it.
func checkOverread(t *testing.T, g golden, err error) {
	var fail *decodeError
	if !errors.As(err, &fail) || fail.Code < codeBigNegative || fail.Code > codeBigPositive {
		t.Fatalf("Unpack(%x): %v", []byte(g.Packed), err)
	}
	recorded := goldenTuple(t, g.Elements)
	whole := recorded.MustPack()
	if !bytes.HasPrefix(whole, g.Packed) {
		t.Fatalf("Unpack(%x): %v; and it does not begin the recorded %v", []byte(g.Packed), err, recorded)
	}
	wantTuple(t, whole, recorded)
}

func checkSorted(t *testing.T, g golden) {
	var last Tuple
	var lastPacked []byte
	for i, key := range g.Sorted {
		in := goldenTuple(t, key.Elements)
		packed, err := in.Pack()
		wantBytes(t, "Pack", packed, err, key.Packed)
		if i > 0 && bytes.Compare(lastPacked, packed) > 0 {
			t.Errorf("%v packs after %v", last, in)
		}
		last, lastPacked = in, packed
	}
}

func checkSubspace(t *testing.T, g golden) {
	s, in := NewSubspace(g.Prefix), goldenTuple(t, g.Elements)
	packed, err := s.Pack(in)
	wantBytes(t, "Subspace.Pack", packed, err, g.Packed)
	begin, end := s.Range()
	wantBytes(t, "begin of Subspace.Range", begin, nil, *g.RangeBegin)
	wantBytes(t, "end of Subspace.Range", end, nil, *g.RangeEnd)
	got, err := s.Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, got, exact...); diff != "" {
		t.Errorf("Subspace.Unpack mismatch (-want +got):\n%s", diff)
	}
}

func checkSubspaceUnpack(t *testing.T, g golden) {
	if got, err := NewSubspace(g.Prefix).Unpack(g.Packed); err == nil {
		t.Errorf("Subspace.Unpack(%x) = %v, want an error", []byte(g.Packed), got)
	}
}

func wantBytes(t *testing.T, what string, got []byte, err error, want []byte) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s = %x, want %x", what, got, want)
	}
}

func wantTuple(t *testing.T, packed []byte, want Tuple) {
	t.Helper()
	got, err := Unpack(packed)
	if err != nil {
		t.Fatalf("Unpack(%x): %v", packed, err)
	}
	if diff := cmp.Diff(want, got, exact...); diff != "" {
		t.Errorf("Unpack(%x) mismatch (-want +got):\n%s", packed, diff)
	}
}

// TestLayout pins the bytes of every kind, as the format's specification gives
// them, so that a change of the layout fails here without any recordings.
func TestLayout(t *testing.T) {
	tests := []struct {
		in   Tuple
		want string // hex, spaces for the eye
	}{
		{Tuple{}, ""},
		{Tuple{nil}, "00"},
		{Tuple{[]byte("foo\x00bar")}, "01 666f6f 00ff 626172 00"},
		{Tuple{"F\u00d4O\u0000bar"}, "02 46c3944f 00ff 626172 00"},
		{Tuple{Tuple{[]byte("foo\x00bar"), nil, Tuple{}}}, "05 01666f6f00ff62617200 00ff 0500 00"},
		{Tuple{int64(0)}, "14"},
		{Tuple{int64(1)}, "15 01"},
		{Tuple{int64(-1)}, "13 fe"},
		{Tuple{int64(255)}, "15 ff"},
		{Tuple{int64(256)}, "16 0100"},
		{Tuple{int64(-5551212)}, "11 ab4b93"},
		{Tuple{int64(math.MaxInt64)}, "1c 7fffffffffffffff"},
		{Tuple{int64(math.MinInt64)}, "0c 7fffffffffffffff"},
		{Tuple{uint64(math.MaxUint64)}, "1c ffffffffffffffff"},
		{Tuple{new(big.Int).Neg(new(big.Int).SetUint64(math.MaxUint64))}, "0c 0000000000000000"},
		{Tuple{new(big.Int).Lsh(big.NewInt(1), 64)}, "1d 09 010000000000000000"},
		{Tuple{new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 64))}, "0b f6 feffffffffffffffff"},
		{Tuple{float32(-42)}, "20 3dd7ffff"},
		{Tuple{float32(0)}, "20 80000000"},
		{Tuple{42.0}, "21 c045000000000000"},
		{Tuple{math.Copysign(0, -1)}, "21 7fffffffffffffff"},
		{Tuple{math.Inf(1)}, "21 fff0000000000000"},
		{Tuple{false, true}, "26 27"},
		{Tuple{UUID{0: 0x12, 15: 0x34}}, "30 12000000000000000000000000000034"},
		{Tuple{Versionstamp{[10]byte{7: 5, 9: 6}, 0x0102}}, "33 00000000000000050006 0102"},
	}
	for _, test := range tests {
		want, err := hex.DecodeString(strings.ReplaceAll(test.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := test.in.MustPack(); !bytes.Equal(got, want) {
			t.Errorf("%v packs to %x, want %x", test.in, got, want)
		}
		got, err := Unpack(want)
		if diff := cmp.Diff(test.in, got, exact...); err != nil || diff != "" {
			t.Errorf("Unpack(%x): %v (-want +got):\n%s", want, err, diff)
		}
	}
}
