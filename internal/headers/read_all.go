// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// concurrentReads bounds the reads that are under way at a time.
const concurrentReads = 256

// ReadAll is [Read] of many directories by their prefixes. It returns the headers in each, in
// the same order.
//
// Cost: for each 256 directories one round of reads for each type in the directory that has
// most, and one more.
func ReadAll(ctx context.Context, tx kv.ReadTransaction, directories [][]byte) (all [][]Header, err error) {
	for group := range slices.Chunk(directories, concurrentReads) {
		found, err := readGroup(ctx, tx, group)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// readGroup starts all reads of a round before it waits for one.
func readGroup(ctx context.Context, tx kv.ReadTransaction, group [][]byte) ([][]Header, error) {
	scans := make([]*scan, len(group))
	for i, directory := range group {
		scans[i] = newScan(tx, directory)
	}
	for left := slices.Clone(scans); len(left) > 0; {
		for _, s := range left {
			if err := s.next(ctx, tx); err != nil {
				return nil, err
			}
		}
		left = slices.DeleteFunc(left, func(s *scan) bool { return s.done })
	}
	found := make([][]Header, len(scans))
	for i, s := range scans {
		found[i] = s.found
	}
	return found, nil
}
