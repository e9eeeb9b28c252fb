// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	_ encoding.TextAppender    = ID(0)
	_ encoding.TextMarshaler   = ID(0)
	_ encoding.TextUnmarshaler = (*ID)(nil)
	_ json.Marshaler           = ID(0)
	_ json.Unmarshaler         = (*ID)(nil)
	_ driver.Valuer            = ID(0)
	_ sql.Scanner              = (*ID)(nil)
)

// anyID draws what a generator can make, and zero.
var anyID = rapid.Custom(func(t *rapid.T) ID { return ID(rapid.Int64Range(0, math.MaxInt64).Draw(t, "id")) })

func TestIDParts(t *testing.T) {
	// Written out bit by bit, as section 2 of the specification draws it.
	const (
		reserve   = "0"
		timestamp = "00000" + "000000000000000000000000000000" + "101101" // 45 ms
		machine   = "1" + "0000000000011"                                 // fallback, 3
		sequence  = "11111110"                                            // 254
	)
	var id ID
	if _, err := fmt.Sscanf(reserve+timestamp+machine+sequence, "%b", (*int64)(&id)); err != nil {
		t.Fatal(err)
	}
	type parts struct {
		Time              time.Time
		Machine, Sequence int
		Fallback          bool
	}
	want := parts{time.Date(2026, 1, 1, 0, 0, 0, 45e6, time.UTC), 8195, 254, true}
	got := parts{id.Time(), id.MachineID(), id.Sequence(), id.IsFallback()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts of %d mismatch (-want +got):\n%s", id, diff)
	}
	leased := id &^ (1 << 21)
	if leased.IsFallback() || leased.MachineID() != 3 {
		t.Errorf("leased ID: IsFallback %v, MachineID %d; want false, 3", leased.IsFallback(), leased.MachineID())
	}
}

func TestIDParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want ID
		err  string // part of the error's text; empty for none
	}{
		{text: "0"},
		{text: "1", want: 1},
		{text: "211469771380744768", want: 211469771380744768},
		{text: "9223372036854775807", want: math.MaxInt64},
		{text: "9223372036854775808", err: "the greatest ID"},
		{text: "18446744073709551617", err: "the greatest ID"},
		{text: strings.Repeat("9", 100), err: "(100 bytes)"},
		{text: "", err: "empty"},
		{text: "00", err: "leading zero"},
		{text: "01", err: "leading zero"},
		{text: "-1", err: `byte 0 is '-'`},
		{text: "+1", err: `byte 0 is '+'`},
		{text: " 1", err: "digits only"},
		{text: "1 ", err: "digits only"},
		{text: "1_000", err: "digits only"},
		{text: "1e3", err: "digits only"},
		{text: "0x10", err: "digits only"},
		{text: "１", err: "digits only"},
	} {
		got, err := Parse(test.text)
		checkInvalid(t, fmt.Sprintf("Parse(%q)", test.text), err, test.err)
		if got != test.want {
			t.Errorf("Parse(%q) = %d, want %d", test.text, got, test.want)
		}
	}
}

// checkInvalid checks that err is ErrInvalid and contains want, or is nil where
// want is empty.
func checkInvalid(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && !errors.Is(err, ErrInvalid):
		t.Errorf("%s: error %v, want ErrInvalid", what, err)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("%s: error %q, want it to say %q", what, err, want)
	}
}

func TestIDRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := anyID.Draw(t, "any")
		if got, err := Parse(id.String()); err != nil || got != id {
			t.Fatalf("Parse(String) = %d, %v; want %d", got, err, id)
		}
		type record struct {
			ID   ID
			Ref  *ID
			Rank map[ID]string
		}
		in := record{ID: id, Ref: &id, Rank: map[ID]string{id: "first"}}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out record
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatalf("JSON %s mismatch (-want +got):\n%s", data, diff)
		}
		value, err := id.Value()
		if err != nil {
			t.Fatal(err)
		}
		var scanned ID
		if err := scanned.Scan(value); err != nil || scanned != id {
			t.Fatalf("Scan(Value) = %d, %v; want %d", scanned, err, id)
		}
	})
}

func TestIDMarshalJSON(t *testing.T) {
	got, err := json.Marshal(map[string]ID{"id": 9007199254740993})
	if want := `{"id":"9007199254740993"}`; err != nil || string(got) != want {
		t.Errorf("Marshal = %s, %v; want %s", got, err, want)
	}
}

func TestIDUnmarshalJSON(t *testing.T) {
	for _, test := range []struct {
		json string
		want ID
		err  string
	}{
		{json: `"9007199254740993"`, want: 9007199254740993},
		{json: `"\u0031\u0032"`, want: 12},
		{json: `9007199254740991`, want: 9007199254740991},
		{json: `0`, want: 0},
		{json: `null`, want: 77}, // left as it was
		{json: `9007199254740992`, err: "may have been rounded"},
		{json: `9223372036854775807`, err: "may have been rounded"},
		{json: `9223372036854775808`, err: "the greatest ID"},
		{json: `-1`, err: "plain integer"},
		{json: `1.0`, err: "plain integer"},
		{json: `1e3`, err: "plain integer"},
		{json: `""`, err: "empty"},
		{json: `"x"`, err: "digits only"},
		{json: `"\u0031x"`, err: "digits only"},
		{json: `true`, err: "plain integer"},
		{json: `{}`, err: "plain integer"},
		{json: `["1"]`, err: "plain integer"},
	} {
		id := ID(77)
		err := json.Unmarshal([]byte(test.json), &id)
		checkInvalid(t, test.json, err, test.err)
		want := test.want
		if test.err != "" {
			want = 77
		}
		if id != want {
			t.Errorf("%s: ID is %d, want %d", test.json, id, want)
		}
	}
	for _, broken := range []string{"", `"`, `"1`, `"\u00"`} {
		id := ID(77)
		if err := id.UnmarshalJSON([]byte(broken)); !errors.Is(err, ErrInvalid) || id != 77 {
			t.Errorf("UnmarshalJSON(%q) = %v and ID %d; want ErrInvalid and 77", broken, err, id)
		}
	}
}

func TestIDScan(t *testing.T) {
	for _, test := range []struct {
		src  any
		want ID
		err  string
	}{
		{src: int64(math.MaxInt64), want: math.MaxInt64},
		{src: int64(0), want: 0},
		{src: "12", want: 12},
		{src: []byte("12"), want: 12},
		{src: int64(-1), err: "negative"},
		{src: "-1", err: "digits only"},
		{src: []byte{}, err: "empty"},
		{src: nil, err: "sql.Null"},
		{src: 1.5, err: "float64"},
		{src: true, err: "bool"},
	} {
		id := ID(77)
		err := id.Scan(test.src)
		checkInvalid(t, fmt.Sprintf("Scan(%#v)", test.src), err, test.err)
		want := test.want
		if test.err != "" {
			want = 77
		}
		if id != want {
			t.Errorf("Scan(%#v): ID is %d, want %d", test.src, id, want)
		}
	}
	var null sql.Null[ID]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("sql.Null[ID].Scan(nil) = %v, valid %v; want nil, false", err, null.Valid)
	}
}

func TestNegativeIDIsNotWritten(t *testing.T) {
	_, textErr := ID(-5).MarshalText()
	_, jsonErr := json.Marshal(ID(-5))
	_, sqlErr := ID(-5).Value()
	for what, err := range map[string]error{"text": textErr, "JSON": jsonErr, "SQL": sqlErr} {
		checkInvalid(t, what, err, "negative")
	}
}

func TestIDCompareAndZero(t *testing.T) {
	if ID(1).Compare(2) != -1 || ID(2).Compare(2) != 0 || ID(3).Compare(2) != 1 {
		t.Error("Compare does not order 1, 2, 3")
	}
	if !ID(0).IsZero() || ID(1).IsZero() {
		t.Error("IsZero: want true for 0 only")
	}
}

// FuzzParse checks that every text either is the one spelling of its ID or is
// ErrInvalid, in all decoders, and that math/big agrees on the number.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0", "00", "1", "-1", "+1", "9223372036854775807", "9223372036854775808", "1e3", "１", "99999999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := Parse(text)
		var fromText, fromSQL ID
		textErr, sqlErr := fromText.UnmarshalText([]byte(text)), fromSQL.Scan(text)
		if (err == nil) != (textErr == nil) || (err == nil) != (sqlErr == nil) || id != fromText || id != fromSQL {
			t.Fatalf("%q: Parse %d %v, UnmarshalText %d %v, Scan %d %v", text, id, err, fromText, textErr, fromSQL, sqlErr)
		}
		n, ok := new(big.Int).SetString(text, 10)
		valid := ok && n.IsInt64() && n.Sign() >= 0 && n.String() == text
		if err != nil {
			if !errors.Is(err, ErrInvalid) || valid {
				t.Fatalf("%q: %v; want an ErrInvalid, and only for a text that is not an ID", text, err)
			}
			return
		}
		if !valid || id.String() != text || n.Int64() != int64(id) {
			t.Fatalf("%q gives %d, written %s", text, id, id)
		}
	})
}

// FuzzIDJSON checks that any JSON gives an ID that survives, or ErrInvalid and
// an unchanged variable; a number must not exceed 2^53 - 1.
func FuzzIDJSON(f *testing.F) {
	for _, seed := range []string{`"1"`, `1`, `null`, `"\u0031"`, `9007199254740993`, `1.0`, `{}`, `"`, ``, `"1`, `-0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id := ID(77)
		if err := id.UnmarshalJSON(data); err != nil {
			if !errors.Is(err, ErrInvalid) || id != 77 {
				t.Fatalf("%q: %v and ID %d; want ErrInvalid and no change", data, err, id)
			}
			return
		}
		if len(data) > 0 && data[0] != '"' && id > maxSafeJSON {
			t.Fatalf("%q: number accepted above 2^53-1", data)
		}
		again, err := json.Marshal(id)
		var back ID
		if err != nil || json.Unmarshal(again, &back) != nil || back != id {
			t.Fatalf("%q: %d is written %s, %v, and read back as %d", data, id, again, err, back)
		}
	})
}
