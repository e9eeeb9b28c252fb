// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Reference is a field with ids of records of a type.
type Reference = erased.Reference

// What becomes of the records that refer to one when that is deleted, unless nothing does.
const (
	Restrict = erased.Restrict
	Cascade  = erased.Cascade
)

// Refer adds a reference from the records of a type to those of another, while the program is
// initialized.
func Refer(from, to *Schema, r Reference) { erased.Refer(from, to, r) }

// Referred returns the records to which the schema's i-th reference leads from those in list, but for nil
// ones, by their ids. R is a pointer to their struct, K the type of their ids.
//
//go:noinline
func Referred[R any, K comparable, T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, list []T) (map[K]R, error) {
	records, none := make([]any, 0, len(list)), any(*new(T))
	for _, v := range list {
		if any(v) != none {
			records = append(records, v)
		}
	}
	found, err := erased.Runtime.Referred(ctx, Source(s), i, records)
	if err != nil {
		return nil, err
	}
	id, all := (*erased.Store[ID])(s).Schema().Relations.References[i].To().ID, make(map[K]R, len(found))
	for _, v := range found {
		if v != nil {
			all[*id(v).(*K)] = v.(R)
		}
	}
	return all, nil
}
