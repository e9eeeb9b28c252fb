// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Read reads the headers in the directory with that prefix, in the order of the types. It
// leaps over the other keys of each type. Keys of the program's own are no headers.
//
// Cost: one round of reads for each type, and one more.
func Read(ctx context.Context, tx kv.ReadTransaction, directory []byte) ([]Header, error) {
	s := newScan(tx, directory)
	for !s.done {
		if err := s.next(ctx, tx); err != nil {
			return nil, err
		}
	}
	return s.found, nil
}

// scan is the read of the headers in one directory.
type scan struct {
	directory []byte
	rest      kv.KeyRange    // what is not read yet
	first     kv.RangeResult // its first pair
	found     []Header
	done      bool
}

// textCode begins a text in a tuple: other elements are keys of the program's own.
var textCode = tuple.AppendString(nil, "")[:1]

func newScan(tx kv.ReadTransaction, directory []byte) *scan {
	s := &scan{directory: directory, rest: kv.PrefixRange(slices.Concat(directory, prefix, textCode))}
	s.start(tx)
	return s
}

func (s *scan) start(tx kv.ReadTransaction) {
	s.first = tx.GetRange(s.rest.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
}

// next takes the pair that was read, and starts the read of the one behind its type.
func (s *scan) next(ctx context.Context, tx kv.ReadTransaction) error {
	pairs, err := s.first.Slice(ctx)
	if err != nil {
		return err
	}
	if s.done = len(pairs) == 0 || !s.take(pairs[0]); !s.done {
		s.start(tx)
	}
	return nil
}

// take keeps a header and leaps behind its type: no element of a tuple begins with 0xff. It returns false at a key of the program's own.
func (s *scan) take(pair kv.KeyValue) bool {
	key := pair.Key[len(s.directory):]
	behind, err := tuple.Skip(key[len(prefix):])
	if err != nil {
		return false
	}
	if typ, is := ParseKey(key); is {
		s.found = append(s.found, Header{typ, pair.Value})
	}
	s.rest.Begin = append(slices.Clone(pair.Key[:len(pair.Key)-len(behind)]), 0xff)
	return true
}
