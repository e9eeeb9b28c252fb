// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/wire"
)

func Example() {
	b := append([]byte(nil), 0x12) // field 2, length-delimited
	b = wire.AppendString(b, "kaze")
	r := wire.NewReader(b)
	for r.Next() {
		fmt.Println(r.Field(), r.String())
	}
	fmt.Println(r.Err())
	// Output:
	// 2 kaze
	// <nil>
}

// one reads the single field of a message with the tag byte tag.
func one[T any](tag byte, value []byte, read func(*wire.Reader) T) (T, error) {
	r := wire.NewReader(append([]byte{tag}, value...))
	var v T
	for r.Next() {
		v = read(&r)
	}
	return v, r.Err()
}

func TestScalarsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		if got, err := one(0x08, wire.AppendZigzag(nil, i), func(r *wire.Reader) int64 { return r.Int(64) }); got != i || err != nil {
			t.Fatalf("zigzag %d: got %d, %v", i, got, err)
		}
		u := rapid.Uint64().Draw(t, "u")
		if got, err := one(0x08, wire.AppendVarint(nil, u), (*wire.Reader).Varint); got != u || err != nil {
			t.Fatalf("varint %d: got %d, %v", u, got, err)
		}
		s := rapid.String().Draw(t, "s")
		if got, err := one(0x0a, wire.AppendString(nil, s), (*wire.Reader).String); got != s || err != nil {
			t.Fatalf("string %q: got %q, %v", s, got, err)
		}
		f := math.Float64frombits(rapid.Uint64().Draw(t, "f"))
		if got, err := one(0x09, wire.AppendFloat64(nil, f), (*wire.Reader).Float64); math.Float64bits(got) != math.Float64bits(f) || err != nil {
			t.Fatalf("double %v: got %v, %v", f, got, err)
		}
	})
}

func TestIntegersThatDoNotFit(t *testing.T) {
	for _, tc := range []struct {
		bits int
		v    int64
		ok   bool
	}{{8, 127, true}, {8, 128, false}, {8, -128, true}, {8, -129, false}, {32, math.MaxInt32, true}, {32, math.MaxInt32 + 1, false}, {64, math.MinInt64, true}} {
		_, err := one(0x08, wire.AppendZigzag(nil, tc.v), func(r *wire.Reader) int64 { return r.Int(tc.bits) })
		if (err == nil) != tc.ok {
			t.Errorf("Int(%d) of %d: error %v", tc.bits, tc.v, err)
		}
	}
	if _, err := one(0x08, wire.AppendVarint(nil, 256), func(r *wire.Reader) uint64 { return r.Uint(8) }); err == nil {
		t.Error("Uint(8) of 256: no error")
	}
}

// TestWellKnownTypes compares with the official encodings of Timestamp and Duration.
func TestWellKnownTypes(t *testing.T) {
	for _, when := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 999_999_999), time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(1905, 1, 1, 0, 0, 0, 7, time.UTC)} {
		message, err := proto.MarshalOptions{Deterministic: true}.Marshal(timestamppb.New(when))
		if err != nil {
			t.Fatal(err)
		}
		want := wire.AppendBytes(nil, message)
		if diff := cmp.Diff(want, wire.AppendTimestamp(nil, when)); diff != "" {
			t.Errorf("AppendTimestamp(%v) mismatch (-want +got):\n%s", when, diff)
		}
		if got, err := one(0x0a, want, (*wire.Reader).Timestamp); err != nil || !got.Equal(when) {
			t.Errorf("Timestamp of %v: got %v, %v", when, got, err)
		}
	}
	for _, d := range []time.Duration{0, 1, -1, time.Second, -1500 * time.Millisecond, math.MaxInt64, math.MinInt64} {
		message, err := proto.MarshalOptions{Deterministic: true}.Marshal(durationpb.New(d))
		if err != nil {
			t.Fatal(err)
		}
		want := wire.AppendBytes(nil, message)
		if diff := cmp.Diff(want, wire.AppendDuration(nil, d)); diff != "" {
			t.Errorf("AppendDuration(%v) mismatch (-want +got):\n%s", d, diff)
		}
		if got, err := one(0x0a, want, (*wire.Reader).Duration); err != nil || got != d {
			t.Errorf("Duration of %v: got %v, %v", d, got, err)
		}
	}
}

func TestDurationRefusesWhatGoCannotHold(t *testing.T) {
	for _, d := range []*durationpb.Duration{{Seconds: math.MaxInt64 / 1_000_000_000, Nanos: 999_999_999}, {Seconds: math.MaxInt64}, {Seconds: 1, Nanos: -1}, {Nanos: 1_000_000_000}} {
		message, err := proto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := one(0x0a, wire.AppendBytes(nil, message), (*wire.Reader).Duration); err == nil {
			t.Errorf("Duration of %v: got %v and no error", d, got)
		}
	}
}

func TestEndMessageMovesLongMessages(t *testing.T) {
	for _, size := range []int{0, 1, 127, 128, 16_383, 16_384, 3_000_000} {
		b, at := wire.BeginMessage([]byte("before"))
		b = append(b, strings.Repeat("x", size)...)
		b = wire.EndMessage(b, at)
		want := protowire.AppendString([]byte("before"), strings.Repeat("x", size))
		if !bytes.Equal(b, want) {
			t.Errorf("a message of %d bytes is encoded wrong", size)
		}
	}
}

func TestRepeatedReadsPackedAndUnpacked(t *testing.T) {
	unpacked := []byte{0x08, 2, 0x08, 4, 0x08, 6}
	packed := []byte{0x0a, 3, 2, 4, 6, 0x0a, 0}
	for name, b := range map[string][]byte{"unpacked": unpacked, "packed": packed} {
		var got []int64
		r := wire.NewReader(b)
		for r.Next() {
			for r.Repeated(wire.VarintType) {
				got = append(got, r.Zigzag())
			}
		}
		if diff := cmp.Diff([]int64{1, 2, 3}, got); diff != "" || r.Err() != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, r.Err(), diff)
		}
	}
	r := wire.NewReader([]byte{0x0a, 2, 2, 0x80, 0x01}) // the second element runs over the end
	for r.Next() {
		for r.Repeated(wire.VarintType) {
			r.Zigzag()
		}
	}
	if r.Err() == nil {
		t.Error("an element over the end of its list: no error")
	}
}

func TestErrorTellsWhere(t *testing.T) {
	inner := wire.NewReader([]byte{0x12, 5, 'a'})
	inner.Next()
	_ = inner.String()
	r := wire.NewReader([]byte{0x08, 1, 0x12, 0})
	r.Next()
	r.Skip()
	r.Next()
	r.Check(inner.Err())
	var e *wire.Error
	if !errors.As(r.Err(), &e) || e.Field != 2 || e.Err == nil {
		t.Fatalf("got %v", r.Err())
	}
	if got, want := r.Err().Error(), "wire: offset 3, field 2: wire: offset 1, field 2: the length is cut off or passes the end"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMergeUnknown(t *testing.T) {
	// known: 1 scalar, 2 nested by value {1}, 3 nested by pointer {1}
	inner := &wire.FieldSet{Numbers: []int32{1}}
	pointer := &wire.FieldSet{Numbers: []int32{1}, Optional: true}
	known := &wire.FieldSet{Numbers: []int32{1, 2, 3}, Messages: map[int32]*wire.FieldSet{2: inner, 3: pointer}}
	old := unhex(t, "0801"+"12040801"+"1009"+"1a040801"+"1007"+"220158"+"2805")
	for _, tc := range []struct{ name, now, want string }{
		{"all kept", "0802" + "12020803" + "1a020804", "0802" + "12020803" + "1a020804" + "220158" + "2805" + "12021009" + "1a021007"},
		{"pointer gone", "0802" + "12020803", "0802" + "12020803" + "220158" + "2805" + "12021009"},
		{"value zero", "0802", "0802" + "220158" + "2805" + "12021009"},
	} {
		got, err := wire.MergeUnknown(append([]byte("head"), unhex(t, tc.now)...), 4, old, known)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, hex.EncodeToString(got[4:])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		again, err := wire.MergeUnknown(unhex(t, tc.now), 0, got[4:], known)
		if err != nil || !bytes.Equal(again, got[4:]) {
			t.Errorf("%s: a second save changes the bytes: %x, %v", tc.name, again, err)
		}
	}
	if _, err := wire.MergeUnknown(nil, 0, []byte{0x12, 9}, known); err == nil {
		t.Error("malformed old bytes: no error")
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAppendDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 256)
	when, text := time.Now(), "hello"
	if n := testing.AllocsPerRun(100, func() {
		b := wire.AppendString(buf, text)
		b = wire.AppendTimestamp(b, when)
		b = wire.AppendZigzag(b, -5)
		wire.AppendFloat64(b, 1.5)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{0x08, 1, 0x12, 2, 'a', 'b', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0x0b, 0x08, 1, 0x0c})
	known := &wire.FieldSet{Numbers: []int32{1, 2}, Messages: map[int32]*wire.FieldSet{2: {Numbers: []int32{1}}}}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewReader(b)
		for r.Next() {
			switch r.Field() % 8 {
			case 1:
				r.Int(32)
			case 2:
				_ = r.String()
			case 3:
				r.Timestamp()
			case 4:
				r.Duration()
			case 5:
				for r.Repeated(wire.VarintType) {
					r.Uint(16)
				}
			case 6:
				r.Array(make([]byte, 16))
			default:
				r.Skip()
			}
		}
		merged, err := wire.MergeUnknown(nil, 0, b, known)
		if err != nil {
			return
		}
		m := wire.NewReader(merged)
		for m.Next() {
			m.Skip()
		}
		if m.Err() != nil {
			t.Fatalf("the merge of %x is malformed: %v", b, m.Err())
		}
	})
}

// TestStrings makes strings of bytes that change afterwards, of all lengths around the
// bounds: each keeps its value.
func TestStrings(t *testing.T) {
	for name, s := range map[string]*wire.Strings{"none": nil, "shared": {}, "expected": expecting(3000), "expected too few": expecting(1)} {
		var made, want []string
		buf := make([]byte, 0, 2000)
		for _, n := range []int{0, 1, 2, 100, 255, 256, 257, 1023, 1024, 1025, 2000, 1, 200, 200, 200, 200, 200, 200} {
			text := strings.Repeat(string(rune('a'+len(made))), n)
			buf = append(buf[:0], text...)
			made, want = append(made, s.Copy(buf)), append(want, text)
			clear(buf)
		}
		if fmt.Sprint(made) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", name, made, want)
		}
	}
}

func expecting(bytes int) *wire.Strings {
	s := new(wire.Strings)
	s.Expect(bytes)
	return s
}

// TestStringsShareMemory counts allocations: expected strings need one for 1,024 bytes.
func TestStringsShareMemory(t *testing.T) {
	text := []byte("some text of thirty-two letters.")
	var s wire.Strings
	if got := testing.AllocsPerRun(100, func() {
		s.Expect(64 * len(text))
		for range 64 {
			_ = s.Copy(text)
		}
	}); got != 2 {
		t.Errorf("%v allocations for 2,048 bytes, want 2", got)
	}
}

// TestCopyRepeated finds equal strings in the same memory, and others in their own.
func TestCopyRepeated(t *testing.T) {
	var s wire.Strings
	a, b, c := s.CopyRepeated([]byte("one")), s.CopyRepeated([]byte("one")), s.CopyRepeated([]byte("two"))
	if a != "one" || b != "one" || c != "two" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	if unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("the second one has memory of its own")
	}
}

// TestReaderOfStrings reads a message from bytes that change afterwards.
func TestReaderOfStrings(t *testing.T) {
	b := wire.AppendString([]byte{0x0a}, "first")
	b = wire.AppendString(append(b, 0x12), "second")
	r := expecting(len(b)).NewReader(b)
	var got []string
	for r.Next() {
		got = append(got, r.String())
	}
	clear(b)
	if fmt.Sprint(got, r.Err()) != "[first second] <nil>" {
		t.Error(got, r.Err())
	}
}
