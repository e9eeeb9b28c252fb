// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/persistable/internal/erased"

// Condition is a condition on fields of T, a pointer to an annotated struct: on one,
// made by its [Field], or on several, made by [Or] and [And].
type Condition[T any] erased.Condition

// Or is the condition that at least one of some conditions holds; Or of nothing holds
// for no record. Each alternative of a query is a lane of its own; there may be 256.
func Or[T any](conditions ...Condition[T]) Condition[T] {
	return Condition[T](erased.AnyOf(untypedConditions(conditions)))
}

// And is the condition that all of some conditions hold, for use in [Or].
func And[T any](conditions ...Condition[T]) Condition[T] {
	return Condition[T](erased.AllOf(untypedConditions(conditions)))
}
