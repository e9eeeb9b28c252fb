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
// takes its missing bytes from whatever memory lies behind the key, if the
// slice's capacity reaches there, and so may return an integer that is not in the
// key. Such a key must be refused, and must be accepted as what was recorded
// once the bytes that were found there are part of it.
func checkOverread(t *testing.T, g golden, err error) {
	var fail *DecodeError
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
