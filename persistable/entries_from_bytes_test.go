// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/dynamic/dynamictest"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// TestEntriesFromBytes: a program that has only the header of a store makes the
// entries that the generated code makes.
func TestEntriesFromBytes(t *testing.T) {
	for example, s := range map[any]*persistimpl.Schema{
		new(Order): &orderSchema, new(Article): &articleSchema, new(Art): &artSchema, new(Sale): &saleSchema, new(Player): playerSchema,
	} {
		t.Run(s.Type, func(t *testing.T) {
			dynamictest.Compare(t, dynamictest.Code{
				Lock: parsed(t, s), Indexes: s.Indexes, Encode: s.Encode, Entries: s.Entries, Covers: s.Covers,
			}, example)
		})
	}
}

func parsed(t *testing.T, s *persistimpl.Schema) *schema.Schema {
	t.Helper()
	lock, err := s.Parsed()
	check(t, err)
	return lock
}
