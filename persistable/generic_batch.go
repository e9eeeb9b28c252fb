// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// untypedAll returns the records without their type, and nil for nil pointers.
//
//go:noinline
func untypedAll[T any](vs []T) []any {
	all := make([]any, len(vs))
	for i, v := range vs {
		all[i] = untyped(v)
	}
	return all
}

// writeAll is writeMany for a list.
func writeAll(ctx context.Context, s source, vs []any, o BatchOptions, creates bool) error {
	_, err := s.writeMany(ctx, o, creates, func(yield func(any, error) bool) {
		for _, v := range vs {
			if !yield(v, nil) {
				return
			}
		}
	})
	return err
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
