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
func writeAll(ctx context.Context, s source, vs []any, o BatchOptions, how putOptions) error {
	_, err := s.writeMany(ctx, o, how, func(yield func(any, error) bool) {
		for _, v := range vs {
			if !yield(v, nil) {
				return
			}
		}
	})
	return err
}

func writeMany[T any](ctx context.Context, s source, vs iter.Seq2[T, error], o BatchOptions, how putOptions) (int, error) {
	return s.writeMany(ctx, o, how, func(yield func(any, error) bool) {
		for v, err := range vs {
			if !yield(untyped(v), err) {
				return
			}
		}
	})
}

// deleteIDs deletes the records with these ids.
func deleteIDs[ID any](ctx context.Context, typed *erased.Store[ID], ids []ID, o BatchOptions) error {
	packed := make([][]byte, len(ids))
	for i, id := range ids {
		packed[i] = typed.AppendID(nil, id)
	}
	return newSource(typed.Source()).deleteMany(ctx, packed, o)
}

func toQuery[T any](q *Query[T]) *query { return newQuery((*erased.Query)(q)) }
