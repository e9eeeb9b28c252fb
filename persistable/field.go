// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/persistable/internal/erased"

// Field is a field of T with values of type F: what conditions are made of.
// Generated code has a variable with one for each.
type Field[T, F any] erased.Field[F]

// Equal is the condition that the field is v. A field that is a slice must have
// v as an element.
//
//go:noinline
func (f *Field[T, F]) Equal(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.Equal, v))
}

// From is the condition that the field is not below v.
//
//go:noinline
func (f *Field[T, F]) From(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.From, v))
}

// After is the condition that the field is above v.
//
//go:noinline
func (f *Field[T, F]) After(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.After, v))
}

// To is the condition that the field is not above v.
//
//go:noinline
func (f *Field[T, F]) To(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.To, v))
}

// Before is the condition that the field is below v.
//
//go:noinline
func (f *Field[T, F]) Before(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.Before, v))
}

// In is the condition that the field is one of some values, at most 256. A field that
// is a slice must have one of them as an element. Without a value it holds for no record.
//
//go:noinline
func (f *Field[T, F]) In(values ...F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).In(values))
}
