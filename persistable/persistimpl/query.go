// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Unique returns the record that has the packed values in the schema's i-th
// index, which is unique, or persistable.ErrNotFound.
//
//go:noinline
func Unique[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, values []byte) (T, error) {
	v, err := erased.Runtime.Unique(ctx, (*erased.Store[ID])(s).Source(), i, values)
	record, _ := v.(T)
	return record, err
}

// Query returns the records whose first fields of the schema's i-th index have
// the packed values equal; nil for all records.
//
//go:noinline
func Query[T, ID any](s *persistable.Store[T, ID], i int, equal []byte) *persistable.Query[T] {
	return (*persistable.Query[T])(erased.NewIndexQuery((*erased.Store[ID])(s).Source(), i, equal))
}

// Range is Query with a range on the next field, whose values encode appends as
// tuple elements.
//
//go:noinline
func Range[T, ID, F any](s *persistable.Store[T, ID], i int, equal []byte, encode func([]byte, F) []byte) *persistable.RangeQuery[T, F] {
	return (*persistable.RangeQuery[T, F])(erased.NewRange((*erased.Store[ID])(s).Source(), i, equal, encode))
}

// DescendingRange is Range of a field whose values are stored in descending order: it
// yields the greatest value first. encode appends values in ascending order, equal has
// those of descending fields as index.Descend leaves them.
//
//go:noinline
func DescendingRange[T, ID, F any](s *persistable.Store[T, ID], i int, equal []byte, encode func([]byte, F) []byte) *persistable.RangeQuery[T, F] {
	return (*persistable.RangeQuery[T, F])(erased.NewRange((*erased.Store[ID])(s).Source(), i, equal, encode).Descending())
}

// Field returns the indexed field with that name, whose values encode appends as
// tuple elements.
func Field[T, F any](name string, encode func([]byte, F) []byte) persistable.Field[T, F] {
	return persistable.Field[T, F](erased.NewField(name, encode))
}
