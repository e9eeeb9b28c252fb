// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/kazahana-db/kazahana/tuple"
)

// ID is the id of a record, of whatever kind the ids of its type have. IDs are
// comparable by ==; the zero ID is none. [Store.ParseID] makes one of text.
type ID struct{ packed string } // a tuple element

// IsZero reports whether the id is none.
func (id ID) IsZero() bool { return id.packed == "" }

// String returns the id as text: integers in decimal, texts as they are, ids of 16 bytes
// as UUIDs, other bytes in base64. [Store.ParseID] is its inverse.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	t, err := tuple.Unpack([]byte(id.packed))
	if err != nil || len(t) != 1 {
		return fmt.Sprintf("%x", id.packed)
	}
	switch v := t[0].(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	}
	return fmt.Sprint(t[0])
}

// MarshalText implements [encoding.TextMarshaler]: it returns what String does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Value returns the id as an element of a tuple: an int64 or uint64, string, []byte,
// bool, float32, float64 or [tuple.UUID]; nil for the zero ID.
func (id ID) Value() any {
	if t, err := tuple.Unpack([]byte(id.packed)); err == nil && len(t) == 1 {
		return t[0]
	}
	return nil
}
