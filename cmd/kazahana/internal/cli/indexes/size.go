// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// The engine estimates the bytes of a range from a random sample of its keys: below about a
// megabyte that can be wrong by a factor of ten. So an index with a smaller estimate is
// counted, up to mostCounted entries. Of a larger one, sampleSize entries tell how large
// one is.
const (
	smallest    = 1 << 20
	mostCounted = 20_000
	sampleSize  = 1000
)

// size is how much an index has.
type size struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`           // keys and values
	Exact   bool  `json:"exact,omitempty"` // all was read; else it is an estimate
}

// String says the size in a line.
func (s size) String() string {
	about := "about "
	if s.Exact {
		about = ""
	}
	return fmt.Sprintf("%s%d entries, %d bytes", about, s.Entries, s.Bytes)
}

// measure returns the size of an index. The counts of ranks and the versions of records are
// among the bytes, not among the entries.
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
		s, err = sizeOf(ctx, tx, indexRange(prefix, "I", keyName))
		if err != nil {
			return err
		}
		for _, letter := range []string{"L", "V"} { // the counts of ranks, and the versions of records
			more, err := sizeOf(ctx, tx, indexRange(prefix, letter, keyName))
			if err != nil {
				return err
			}
			s.Bytes, s.Exact = s.Bytes+more.Bytes, s.Exact && more.Exact
		}
		return nil
	})
	return s, err
}

// sizeOf returns the size of a range.
func sizeOf(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange) (s size, err error) {
	estimate, err := tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if err != nil {
		return s, err
	}
	limit := sampleSize
	if estimate < smallest {
		limit = mostCounted
	}
	for p, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return s, err
		}
		s.Entries, s.Bytes = s.Entries+1, s.Bytes+int64(len(p.Key)+len(p.Value))
	}
	if s.Exact = s.Entries < int64(limit); !s.Exact && estimate > s.Bytes {
		s.Entries, s.Bytes = int64(float64(estimate)/float64(s.Bytes)*float64(s.Entries)), estimate
	}
	return s, nil
}

// indexRange is the range of an index's keys that begin with a letter of the layout.
func indexRange(directory []byte, letter, keyName string) kv.KeyRange {
	return kv.PrefixRange(tuple.AppendString(tuple.AppendString(slices.Clone(directory), letter), keyName))
}
