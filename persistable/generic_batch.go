// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// withoutErrors returns a sequence as one that could yield errors.
func withoutErrors[T any](vs iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v := range vs {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func writeMany[T any](ctx context.Context, s source, vs iter.Seq2[T, error], o BatchOptions, creates bool) (int, error) {
	return s.writeMany(ctx, o, creates, func(yield func(any, error) bool) {
		for v, err := range vs {
			if !yield(untyped(v), err) {
				return
			}
		}
	})
}

func toQuery[T any](q *Query[T]) *query { return newQuery((*erased.Query)(q)) }

// errorOf drops the result beside an error.
func errorOf[T any](_ T, err error) error { return err }
