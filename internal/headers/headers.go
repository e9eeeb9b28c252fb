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
	"fmt"
	"slices"
	"strings"

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

// ChoiceError says that a directory does not have one store of the type that was asked for.
// Package dynamic returns it as one of its errors; kazahana reads the types.
type ChoiceError struct {
	Path  []string // of the directory
	Type  string   // that was asked for; "" for any
	Types []string // that the directory has, in the order of their names
	None  bool     // none of Types is Type; else it has several, and one must be named
}

// Error implements error.
func (e *ChoiceError) Error() string {
	path := strings.Join(e.Path, "/")
	if e.None {
		return fmt.Sprintf("persistable: not found: the directory %q has %s", path, e.Reason())
	}
	return fmt.Sprintf("dynamic: the directory %q has stores of several types: %s: name one", path, strings.Join(e.Types, ", "))
}

// Reason says what the directory has in place of a store of Type, without its path.
func (e *ChoiceError) Reason() string {
	if len(e.Types) == 0 {
		return "no store of any type"
	}
	return fmt.Sprintf("no store of %s; it has %s", e.Type, strings.Join(e.Types, ", "))
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
