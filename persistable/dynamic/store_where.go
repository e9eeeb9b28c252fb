// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/where"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Where returns a condition for Find, such as
//
//	Status = 1 and (Country in ("DE", "FR") or CreatedAt >= 2026-01-01T00:00:00Z)
//
// with the operators = != < <= > >= and in, with and, or and parentheses. The fields are
// those of the schema, also nested ones (Address.City); values are written as in JSON, and
// those that are no texts without quotes, too. Of a list an element must fulfil the
// comparison. null is compared by = and != only: as in the conditions of tags, it fulfils
// no other comparison. What cannot be is a [*WhereError].
//
// Find serves the condition by indexes, as [persistable.Store.Find] says; a condition that
// no index serves needs a store of AllowScan.
func (s *Store) Where(text string) (persistable.Condition[*Record], error) {
	e, err := where.Parse(text)
	var c erased.Condition
	if err == nil {
		c, err = s.typ.newCondition(e)
	}
	if err != nil {
		return persistable.Condition[*Record]{}, &WhereError{Type: s.typ.name, Text: text, Err: err}
	}
	return persistable.Condition[*Record](c), nil
}
