// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
)

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
				t.Fatalf("%q: %v; want an ErrInvalid, and only for what is no ID", text, err)
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
