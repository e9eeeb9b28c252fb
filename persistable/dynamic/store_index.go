// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// ByIndex returns the records in the order of an index, those of which the first fields
// have the given values, as text. The name is the index's name in keys, [Index].KeyName.
// null is the null of a field that may be null; a text of such a field may be written in
// double quotes, as in Go. Records that have no entry in the index do not come; a record
// with several, in an index on a list, comes once for each.
//
// An index that has no entries for single records, as a count has not, is an error, and so
// is one that needs the type's Go code.
func (s *Store) ByIndex(name string, values ...string) (*persistable.Query[*Record], error) {
	i, err := s.typ.findIndex(name)
	if err != nil {
		return nil, err
	}
	equal, err := s.typ.packValues(s.typ.programs[i].Definition(), values)
	if err != nil {
		return nil, err
	}
	return (*persistable.Query[*Record])(erased.NewIndexQuery(s.source(), i, equal)), nil
}
