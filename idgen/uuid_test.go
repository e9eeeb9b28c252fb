// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	_ encoding.TextAppender    = UUID{}
	_ encoding.TextMarshaler   = UUID{}
	_ encoding.TextUnmarshaler = (*UUID)(nil)
	_ json.Marshaler           = UUID{}
	_ json.Unmarshaler         = (*UUID)(nil)
	_ driver.Valuer            = UUID{}
	_ sql.Scanner              = (*UUID)(nil)

	_ Generator = (*Client)(nil)
)

var anyUUID = rapid.Custom(func(t *rapid.T) UUID {
	return UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
})

const rfcText = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"

var rfcUUID = UUID{0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f}

func TestParseUUID(t *testing.T) {
	for _, test := range []struct {
		text string
		want UUID
		err  string
	}{
		{text: rfcText, want: rfcUUID},
		{text: strings.ToUpper(rfcText), want: rfcUUID},
		{text: "00000000-0000-0000-0000-000000000000"},
		{text: "", err: "36 characters"},
		{text: rfcText[1:], err: "35 bytes"},
		{text: rfcText + "0", err: "37 bytes"},
		{text: "{" + rfcText + "}", err: "38 bytes"},
		{text: "urn:uuid:" + rfcText, err: "45 bytes"},
		{text: strings.ReplaceAll(rfcText, "-", ""), err: "32 bytes"},
		{text: strings.ReplaceAll(rfcText, "-", "_"), err: "hyphen"},
		{text: strings.Replace(rfcText, "7", "g", 1), err: "hexadecimal"},
		{text: strings.Replace(rfcText, "7", "-", 1), err: "hexadecimal"},
		{text: strings.Replace(rfcText, "7c", "é", 1), err: "hexadecimal"},
	} {
		got, err := ParseUUID(test.text)
		checkInvalid(t, fmt.Sprintf("ParseUUID(%q)", test.text), err, test.err)
		if got != test.want {
			t.Errorf("ParseUUID(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

func TestUUIDRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type record struct {
			ID   UUID
			Ref  *UUID
			Rank map[UUID]int
		}
		id, other := anyUUID.Draw(t, "id"), anyUUID.Draw(t, "other")
		in := record{ID: id, Ref: &other, Rank: map[UUID]int{id: 1}}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out record
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatalf("JSON %s mismatch (-want +got):\n%s", data, diff)
		}
		value, err := id.Value()
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range []any{value, []byte(id.String()), id[:]} {
			var scanned UUID
			if err := scanned.Scan(src); err != nil || scanned != id {
				t.Fatalf("Scan(%v) = %v, %v; want %v", src, scanned, err, id)
			}
		}
		// Text sorts like the bytes.
		if want := strings.Compare(id.String(), other.String()); id.Compare(other) != want {
			t.Fatalf("Compare(%v, %v) = %d, want %d", id, other, id.Compare(other), want)
		}
	})
}

func TestUUIDRefusesOtherInput(t *testing.T) {
	for _, text := range []string{`""`, `1`, `true`, `[]`, `"x"`, `"` + rfcText, ``} {
		id := rfcUUID
		if err := id.UnmarshalJSON([]byte(text)); !errors.Is(err, ErrInvalid) || id != rfcUUID {
			t.Errorf("UnmarshalJSON(%s) = %v and UUID %v; want ErrInvalid and no change", text, err, id)
		}
	}
	for _, src := range []any{nil, int64(1), "x", []byte("x"), []byte{}, 1.5} {
		id := rfcUUID
		if err := id.Scan(src); !errors.Is(err, ErrInvalid) || id != rfcUUID {
			t.Errorf("Scan(%#v) = %v and UUID %v; want ErrInvalid and no change", src, err, id)
		}
	}
	id := rfcUUID
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != rfcUUID {
		t.Errorf("null: %v and UUID %v; want no change", err, id)
	}
}

func TestUUIDParts(t *testing.T) {
	v4 := Must(ParseUUID("919108f7-52d1-4320-9bac-f847db4148a8")) // RFC 9562, appendix A.3
	notRFC := rfcUUID
	notRFC[8] = 0xc0
	for _, test := range []struct {
		id      UUID
		version int
		time    time.Time
	}{
		{rfcUUID, 7, time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC)},
		{v4, 4, time.Time{}},
		{notRFC, 7, time.Time{}},
		{UUID{}, 0, time.Time{}},
	} {
		if v, at := test.id.Version(), test.id.Time(); v != test.version || at != test.time {
			t.Errorf("%v: version %d, time %v; want %d, %v", test.id, v, at, test.version, test.time)
		}
	}
	if !(UUID{}).IsZero() || rfcUUID.IsZero() {
		t.Error("IsZero: want true for the nil UUID only")
	}
}

// FuzzUUID checks the decoders of UUID alike.
func FuzzUUID(f *testing.F) {
	for _, seed := range []string{rfcText, strings.ToUpper(rfcText), "", "{" + rfcText + "}", strings.ReplaceAll(rfcText, "-", "0"), "0123456789abcdef"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := ParseUUID(string(data))
		var fromText UUID
		if textErr := fromText.UnmarshalText(data); (err == nil) != (textErr == nil) || id != fromText {
			t.Fatalf("%q: ParseUUID %v %v, UnmarshalText %v %v", data, id, err, fromText, textErr)
		}
		if err == nil && !strings.EqualFold(id.String(), string(data)) {
			t.Fatalf("%q is read as %v", data, id)
		}
		for what, decode := range map[string]func(*UUID) error{
			"JSON": func(u *UUID) error { return u.UnmarshalJSON(data) },
			"SQL":  func(u *UUID) error { return u.Scan(data) },
		} {
			u := rfcUUID
			if err := decode(&u); err != nil && (!errors.Is(err, ErrInvalid) || u != rfcUUID) {
				t.Fatalf("%s %q: %v and UUID %v; want ErrInvalid and no change", what, data, err, u)
			}
		}
	})
}
