// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// Entry is a key that a store has because of a record.
type Entry struct {
	Index string      // the name of the index in keys; "" for the record itself and its chunks
	Kind  index.Kind  // of the index
	Key   []byte      // as the engine has it
	Tuple tuple.Tuple // the key within its directory; values of descending fields in their ascending form
	Value []byte      // nil if the key is missing, which is damage unless a build is under way
}

// Entries returns the keys of the record with that id: its own, then those that it must
// have in each index that is maintained, also those of groups (counts, sums), whose values
// are of all their records; of an index of versions the record's version and its entry. If
// there is no such record the error is [persistable.ErrNotFound].
//
// Cost: one round of reads for the record, and one for each index.
func (s *Store) Entries(ctx context.Context, id ID) ([]Entry, error) {
	all, err := erased.Runtime.Entries(ctx, s.source(), s.typ.appendID(nil, id))
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(all))
	for i, e := range all {
		entries[i] = Entry(e)
	}
	return entries, nil
}

// Drop removes the index that has a name in keys, which is its [Index].KeyName: its
// definition from the header, and all its entries. Programs whose code has the index do not
// maintain it any more, and cannot read it until one of them builds it again. Also an index
// that needs the type's Go code can be dropped. If there is none of that name, the error is a
// [*persistable.NoIndexError]. A drop whose outcome was unknown, and after which the index is
// gone, is no error.
func (s *Store) Drop(ctx context.Context, keyName string) error {
	return erased.Runtime.Drop(ctx, s.source(), keyName)
}

// source returns where the store's operations take place.
func (s *Store) source() *erased.Source { return (*erased.Store[ID])(&s.Store).Source() }
