// SPDX-License-Identifier: Apache-2.0

package erased

import "context"

// Ranks answers from the schema's i-th index, which is one of ranks. The packed group is
// that of the records that are asked for.
type Ranks interface {
	// RankOf returns how many entries of the group come before the packed score.
	RankOf(ctx context.Context, s *Source, i int, group, score []byte) (int64, error)
	// Nth returns the record of the group that has n records before it.
	Nth(ctx context.Context, s *Source, i int, group []byte, n int64) (record any, err error)
	// Percentile returns the record of the group at a percentile.
	Percentile(ctx context.Context, s *Source, i int, group []byte, p float64) (record any, err error)
}
