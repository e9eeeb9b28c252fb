// SPDX-License-Identifier: Apache-2.0

// Package headers finds the stores in a directory by their headers, of whatever types.
//
//	all, err := headers.Read(ctx, tx, prefixOfTheDirectory)
//	for _, h := range all {
//		catalog, err := format.DecodeCatalog(h.Value)
//		…
//	}
package headers

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Header is the header of one store.
type Header struct {
	Type  string
	Value []byte // see format.DecodeCatalog
}

// prefix begins the keys of headers, and of all else in ("S").
var prefix = tuple.AppendString(nil, "S")

// Key returns the key of the header of a type, relative to its directory: ("S", type).
func Key(typ string) []byte { return tuple.AppendString(slices.Clone(prefix), typ) }

// ParseKey returns the type if a key, relative to its directory, is that of a header.
func ParseKey(key []byte) (typ string, is bool) {
	rest, found := bytes.CutPrefix(key, prefix)
	if !found {
		return "", false
	}
	t, err := tuple.Unpack(rest)
	if err != nil || len(t) != 1 {
		return "", false
	}
	typ, is = t[0].(string)
	return typ, is && bytes.Equal(Key(typ), key)
}

// Read reads the headers in the directory with that prefix, in the order of the types. It
// leaps over the other keys of each type: one round a type.
func Read(ctx context.Context, tx kv.ReadTransaction, directory []byte) (all []Header, err error) {
	rest := kv.PrefixRange(slices.Concat(directory, prefix))
	for {
		pairs, err := tx.GetRange(rest.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}).Slice(ctx)
		if err != nil || len(pairs) == 0 {
			return all, err
		}
		key := pairs[0].Key[len(directory):]
		if typ, is := ParseKey(key); is {
			all = append(all, Header{typ, pairs[0].Value})
		}
		behind, err := tuple.Skip(key[len(prefix):])
		if err != nil {
			return all, nil // keys of the program's own
		}
		typeEnd, _ := kv.PrefixEnd(pairs[0].Key[:len(pairs[0].Key)-len(behind)])
		rest.Begin = typeEnd
	}
}
