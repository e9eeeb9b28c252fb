// SPDX-License-Identifier: Apache-2.0

// Package headers finds the stores in directories by their headers, of whatever types.
//
//	all, err := headers.Read(ctx, tx, prefixOfTheDirectory)
//	for _, h := range all {
//		catalog, err := format.DecodeCatalog(h.Value)
//		…
//	}
package headers

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

// Header is the header of one store: that a type is stored in a directory.
type Header struct {
	Type  string
	Value []byte // as docs/layout.md says; see package format
}

// Types returns the types of headers.
func Types(all []Header) []string {
	types := make([]string, len(all))
	for i, h := range all {
		types[i] = h.Type
	}
	return types
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
