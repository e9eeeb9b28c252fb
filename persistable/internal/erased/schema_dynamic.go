// SPDX-License-Identifier: Apache-2.0

package erased

import "github.com/kazahana-db/kazahana/index"

// Dynamic is what a schema has that was made of a store's header, without the Go code of
// the type. Such a store is never created: its header is there first.
type Dynamic struct {
	// Refusal is why nothing may be written; nil where writes are allowed.
	Refusal error
	// Prefix is that of the only directory which the store may be in; nil: that at the path.
	Prefix []byte
	// Entries is Schema.Entries, which is nil. It returns an error for a record that cannot
	// be encoded, or is not as the header says.
	Entries func(i int, e *index.Entries, record any) error
}

// AppendEntries adds the entries that a record has in the i-th index.
func (s *Schema) AppendEntries(i int, e *index.Entries, record any) error {
	if s.Dynamic != nil {
		return s.Dynamic.Entries(i, e, record)
	}
	s.Entries(i, e, record)
	return nil
}
