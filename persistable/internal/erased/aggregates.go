// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
)

// Aggregates are the reads of indexes that say something of many records at once.
// Groups are packed values.
type Aggregates interface {
	// Count returns the number of records in a group of the schema's i-th index.
	Count(ctx context.Context, s *Source, i int, group []byte) (int64, error)
	// Sum returns the sum of a group of the schema's i-th index.
	Sum(ctx context.Context, s *Source, i int, group []byte) (index.Amount, error)
	// Groups returns all groups of the schema's i-th index.
	Groups(ctx context.Context, s *Source, i int) ([]Group, error)
	// Overflow returns the error of a sum of the schema's i-th index that does not fit
	// into 64 bits.
	Overflow(s *Source, i int, sum index.Amount) error
	// Extreme returns the least or the greatest value behind those of group in the
	// schema's i-th index, as a tuple element; nil if there is none.
	Extreme(ctx context.Context, s *Source, i int, group []byte, greatest bool) ([]byte, error)
	// Damaged returns the error of a key of the schema's i-th index that cannot be read.
	Damaged(s *Source, i int, key []byte, err error) error
}

// Group is a group of an index: its packed values and its stored value.
type Group struct {
	Values, Value []byte
}
