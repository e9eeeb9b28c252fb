// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Store is a store that was opened by its header. It has the methods of
// [persistable.Store]: Get, Create, Save, Update, Delete, Scan, Find, Indexes and others.
// It is immutable and safe for concurrent use.
type Store struct {
	persistable.Store[*Record, ID]

	typ    *recordType
	schema *erased.Schema
	args   []string // the values of the directory's {Field}s
	prefix []byte   // of the directory when it was opened
}

// In returns the store bound to a transaction.
func (s *Store) In(tx persistable.Tx) *Store {
	return &Store{s.Store.In(tx), s.typ, s.schema, s.args, s.prefix}
}

// Schema returns what the header said when the store was opened.
func (s *Store) Schema() *Schema { return newSchema(s.typ, s.schema) }

// ParseID returns the id that [ID.String] has as that text. Ids of 16 bytes may also be
// written as ULIDs.
func (s *Store) ParseID(text string) (ID, error) {
	key, err := s.typ.id.ParseKey(text)
	if err != nil {
		return ID{}, fmt.Errorf("dynamic: no id of a %s: %w", s.typ.name, err)
	}
	return ID{string(key)}, nil
}

// Feed returns what follows the changes of the store. Its methods return a
// [*persistable.NoVersionsError] if the records have no versions.
func (s *Store) Feed() *persistable.Feed[*Record, ID] { return persistable.FeedOf(&s.Store) }
