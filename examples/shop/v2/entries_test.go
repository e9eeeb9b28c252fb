// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/dynamictest"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// TestEntriesFromBytes: a program that has only the headers of the stores makes the
// entries that the generated code makes.
func TestEntriesFromBytes(t *testing.T) {
	for example, s := range map[any]*persistimpl.Schema{
		new(Order): &orderSchema,
	} {
		t.Run(s.Type, func(t *testing.T) {
			lock, err := s.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			dynamictest.Compare(t, dynamictest.Code{Lock: lock, Indexes: s.Indexes, Encode: s.Encode, Entries: s.Entries, Covers: s.Covers}, example)
		})
	}
}
