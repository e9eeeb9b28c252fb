// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Header is the header of a store: that a type is stored in a directory.
type Header struct {
	Type  string
	Value []byte // as docs/layout.md says
}

// TypesOf returns the names of the types of headers.
func TypesOf(all []Header) []string {
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Type
	}
	return names
}

// Headers returns the headers of the stores in the directory with a prefix, by type. It
// skips the other keys of each store.
func Headers(ctx context.Context, tx kv.ReadTransaction, prefix []byte) (all []Header, err error) {
	headers := tuple.NewSubspace(prefix).Sub("S")
	begin, end := headers.Range()
	for {
		pairs, err := tx.GetRange(kv.KeyRange{Begin: begin, End: end}.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}).Slice(ctx)
		if err != nil || len(pairs) == 0 {
			return all, err
		}
		t, err := headers.Unpack(pairs[0].Key)
		if err != nil || len(t) == 0 {
			return all, nil // the keys are not those of stores
		}
		name, ok := t[0].(string)
		if !ok {
			return all, nil
		}
		if len(t) == 1 {
			all = append(all, Header{name, pairs[0].Value})
		}
		_, begin = headers.Sub(name).Range()
	}
}
