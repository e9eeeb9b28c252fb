// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// sampleSize is how many entries are read to know how large one is.
const sampleSize = 100

// size is how much an index has.
type size struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`           // keys and values
	Exact   bool  `json:"exact,omitempty"` // all entries were read; else it is an estimate
}

// String says the size in a line.
func (s size) String() string {
	about := "about "
	if s.Exact {
		about = ""
	}
	return fmt.Sprintf("%s%d entries, %d bytes", about, s.Entries, s.Bytes)
}

// measure estimates the size of an index from the engine's estimate of bytes, and from
// the first entries; an index with few entries it reads. The counts of ranks and the
// versions of records are among the bytes, not among the entries.
func measure(ctx context.Context, db *persistable.DB, path []string, keyName string) (s size, err error) {
	d, err := database.OpenDirectory(ctx, db, path)
	if err != nil {
		return s, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return s, err
	}
	err = db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		s = size{}
		if err := s.addEntries(ctx, tx, indexRange(prefix, "I", keyName)); err != nil {
			return err
		}
		for _, letter := range []string{"L", "V"} { // the counts of ranks, and the versions of records
			n, err := tx.GetEstimatedRangeSizeBytes(indexRange(prefix, letter, keyName)).Get(ctx)
			if err != nil {
				return err
			}
			s.Bytes += n
		}
		return nil
	})
	return s, err
}

// addEntries adds the entries of a range.
func (s *size) addEntries(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange) error {
	estimate := tx.GetEstimatedRangeSizeBytes(r)
	pairs, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: sampleSize, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return err
	}
	sample := int64(0)
	for _, p := range pairs {
		sample += int64(len(p.Key) + len(p.Value))
	}
	n := int64(len(pairs))
	if n < sampleSize {
		s.Entries, s.Bytes, s.Exact = n, sample, true
		return nil
	}
	if s.Bytes, err = estimate.Get(ctx); err != nil {
		return err
	}
	s.Bytes = max(s.Bytes, sample)
	s.Entries = s.Bytes * n / sample
	return nil
}

// indexRange is the range of an index's keys that begin with a letter of the layout.
func indexRange(directory []byte, letter, keyName string) kv.KeyRange {
	return kv.PrefixRange(tuple.AppendString(tuple.AppendString(slices.Clone(directory), letter), keyName))
}
