// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Read reads the headers in the directory with that prefix, in the order of the types. It
// leaps over the other keys of each type. Keys of the program's own are not headers.
//
// Cost: one round of reads for each type, and one more; for keys that are not tuples, one for
// each 64 of them, and a few more.
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
	first     kv.RangeResult // its first pairs
	limit     int            // of them
	found     []Header
	done      bool
}

// mostPairs bounds the pairs of a read, some 6 MB at most.
const mostPairs = 64

// textCode begins a text in a tuple: other elements are keys of the program's own.
var textCode = tuple.AppendString(nil, "")[:1]

func newScan(tx kv.ReadTransaction, directory []byte) *scan {
	s := &scan{directory: directory, limit: 1, rest: kv.PrefixRange(slices.Concat(directory, prefix, textCode))}
	s.start(tx)
	return s
}

func (s *scan) start(tx kv.ReadTransaction) {
	s.first = tx.GetRange(s.rest.Selectors(), kv.RangeOptions{Limit: s.limit, Mode: kv.ModeExact})
}

// next takes the pairs that were read, and starts the read of those after them.
func (s *scan) next(ctx context.Context, tx kv.ReadTransaction) error {
	pairs, err := s.first.Slice(ctx)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		if bytes.Compare(pair.Key, s.rest.Begin) >= 0 {
			s.take(pair)
		}
	}
	if s.done = len(pairs) == 0; !s.done {
		s.start(tx)
	}
	return nil
}

// take keeps a header and leaps over the other keys of its type: no element of a tuple begins
// with 0xff. A key that is not a tuple is the program's own, and says nothing about others: the header
// of a type may come next.
func (s *scan) take(pair kv.KeyValue) {
	key := pair.Key[len(s.directory):]
	rest, err := tuple.Skip(key[len(prefix):])
	if err != nil {
		s.rest.Begin, s.limit = kv.Successor(pair.Key), min(2*s.limit, mostPairs)
		return
	}
	if typ, is := ParseKey(key); is {
		s.found = append(s.found, Header{typ, pair.Value})
	}
	s.rest.Begin = append(slices.Clone(pair.Key[:len(pair.Key)-len(rest)]), 0xff)
}
