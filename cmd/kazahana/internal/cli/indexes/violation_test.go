// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestViolationNamesFields: a violation is shown with the name of its index in keys, although
// another index has the same name, and with each value beside its field, as records show it.
func TestViolationNamesFields(t *testing.T) {
	schema := &dynamic.Schema{
		Fields: []dynamic.Field{{Name: "Room", Kind: "string"}, {Name: "At", Kind: "*time"}, {Name: "For", Kind: "duration"}, {Name: "No", Kind: "int64"}},
		Indexes: []dynamic.Index{
			{Name: "Booking_Room", KeyName: "Booking_Room"},
			{Name: "Booking_Room", KeyName: "Booking_Room_unique", Unique: true},
		},
	}
	v := persistable.Violation{
		Index: "Booking_Room_unique", Fields: []string{"Room", "At", "For", "No", "Address.City"},
		Values: tuple.Tuple{"a \"b\"", int64(1772359200000000005), int64(90_000_000_000), int64(7), nil}, ID: int64(9), Owner: int64(1),
	}
	want := []string{`Booking_Room_unique: the records 1 and 9 have Room = "a \"b\"", At = 2026-03-01T10:00:00.000000005Z, For = 1m30s, No = 7, Address.City = nil; 1 is in the index`}
	if got := newViolation(schema, v).Lines(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
