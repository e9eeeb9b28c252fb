// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// Entry is a key that a store has because of a record.
type Entry struct {
	Index string      // the name of the index in keys; "" for the record itself
	Kind  index.Kind  // of the index
	Key   []byte      // as the engine has it
	Tuple tuple.Tuple // the key within its directory; descending values as they were before index.Descend
	Value []byte      // nil if the key is missing
}

// Tools is what the run-time does for stores without the Go code of their types.
type Tools interface {
	// Entries returns the keys of the record with that packed id, and those that it has in
	// all maintained indexes.
	Entries(ctx context.Context, s *Source, id []byte) ([]Entry, error)
	// Drop removes the index with that name in keys from the header, and all its entries.
	Drop(ctx context.Context, s *Source, keyName string) error
}
