// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Row is an entry of an index that copies chosen fields.
type Row = erased.Row

// Rows returns the rows of a query of an index that copies chosen fields. read makes
// one from an entry, and keeps none of its memory.
func Rows[T, R any](q *persistable.Query[T], read func(*Row) (R, error)) *persistable.RowQuery[R] {
	return (*persistable.RowQuery[R])(erased.NewRows((*erased.Query)(q), read))
}

// RowRange is Rows of a range.
func RowRange[T, R, F any](q *persistable.RangeQuery[T, F], read func(*Row) (R, error)) *persistable.RowRange[R, F] {
	return (*persistable.RowRange[R, F])(erased.NewRowRange((*erased.Range[F])(q), read))
}

// ReadString reads a string of the key of a row, from b on, and returns what follows it.
func ReadString[T ~string](row *Row, b []byte) (T, []byte, error) {
	v, rest, err := row.ReadString(b)
	return T(v), rest, err
}

// CheckEnd returns an error unless rest, what follows the id of a row, is empty.
func CheckEnd(rest []byte) error {
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes come behind the id", len(rest))
	}
	return nil
}
