// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/persistable/internal/erased"

// Text is what the type of a field is whose values have a beginning.
type Text interface {
	~string | ~[]byte | *string
}

// HasPrefix is the condition that the field begins with a prefix, or, if it is a slice, that one of
// its elements does:
//
//	q, err := orders.Find(persistable.HasPrefix(OrderFields.Number, "A-"))
//
// It compares bytes, so case counts. Every text begins with the empty one, and null does not. An index
// serves the condition as it serves a range.
//
// HasPrefix and WithPrefix are no methods, so that the compiler refuses them for fields of other
// types, and only a program that uses them compiles them for each of its types.
func HasPrefix[T any, F Text](f Field[T, F], prefix string) Condition[T] {
	return Condition[T]((*erased.Field[F])(&f).HasPrefix(prefix))
}

// WithPrefix narrows a range to the values that begin with a prefix, as [HasPrefix] says:
//
//	persistable.WithPrefix(orders.OrderedByNumber(), "A-").Limit(20).All(ctx)
func WithPrefix[T any, F Text](q *RangeQuery[T, F], prefix string) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).WithPrefix(prefix))
}
