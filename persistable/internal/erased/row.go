// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// Row is one entry of an index that copies chosen fields. Its memory, but for the
// strings that were made of Strings, is valid until the query goes on.
type Row struct {
	Values  []byte // packed; those of descending fields as index.Descend left them; behind them the id, unless the index is unique
	ID      []byte // packed; of a unique index
	Cover   []byte // a message of the chosen fields
	Strings wire.Strings
}

// ReadString reads a string of the row's key, from b on, and returns what follows it.
func (r *Row) ReadString(b []byte) (v string, rest []byte, err error) {
	text, rest, err := tuple.BorrowString(b)
	if err != nil {
		return "", nil, err
	}
	return r.Strings.CopyRepeated(text), rest, nil
}

// Rows is a query of rows, each made from an entry.
type Rows[R any] struct {
	query *Query
	read  func(*Row) (R, error)
}

// NewRows returns the rows of a query, which read makes from entries.
func NewRows[R any](q *Query, read func(*Row) (R, error)) *Rows[R] {
	return &Rows[R]{q.Rows(), read}
}

// Query returns the query, which yields a *[Row] for each entry.
func (r *Rows[R]) Query() *Query { return r.query }

// Read makes a row from an entry.
func (r *Rows[R]) Read(row *Row) (R, error) { return r.read(row) }

// With returns the rows of another query of the same index.
func (r *Rows[R]) With(q *Query) *Rows[R] { return &Rows[R]{q, r.read} }

// RowRange is a range of rows, each made from an entry.
type RowRange[R, F any] struct {
	over *Range[F]
	read func(*Row) (R, error)
}

// NewRowRange returns the rows of a range, which read makes from entries.
func NewRowRange[R, F any](over *Range[F], read func(*Row) (R, error)) *RowRange[R, F] {
	return &RowRange[R, F]{over.Rows(), read}
}

// Range returns the range, which yields a *[Row] for each entry.
func (r *RowRange[R, F]) Range() *Range[F] { return r.over }

// Rows returns the rows without the type of their range.
func (r *RowRange[R, F]) Rows() *Rows[R] { return &Rows[R]{r.over.Query(), r.read} }

// With returns the rows of another range of the same index.
func (r *RowRange[R, F]) With(over *Range[F]) *RowRange[R, F] {
	return &RowRange[R, F]{over, r.read}
}
