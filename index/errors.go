// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// TakenError says that a unique key already has an owner.
type TakenError struct {
	Definition *Definition
	Values     tuple.Tuple // the values in the order of Definition.Fields
	Owner      []byte      // the packed id of the record that has them
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("index: %s: the values %v belong to the record %s", e.Definition.Name, e.Values, tuple.Describe(e.Owner))
}

// KeySizeError says that an index key would pass [kv.MaxKeySize] bytes.
type KeySizeError struct {
	Definition *Definition
	Size       int    // bytes of the whole key
	Field      string // the field with the largest part in it; "ID" for the id
	FieldSize  int    // bytes of that part
}

// Error implements error.
func (e *KeySizeError) Error() string {
	return fmt.Sprintf("index: a key of %s would have %d bytes, %d of them from %s; at most %d are possible: shorten the value, or index a hash or a prefix of it kept in a field of its own",
		e.Definition.Name, e.Size, e.FieldSize, e.Field, kv.MaxKeySize)
}

// keySizeError finds the largest component of a key.
func keySizeError(ix *Index, key []byte) error {
	e := &KeySizeError{Definition: ix.Definition, Size: len(key) + ix.overhead(), Field: "ID"}
	_, rest, _ := ix.Scatter.Cut(key[len(ix.Prefix):]) // written by Begin
	for _, field := range ix.Fields {
		after, err := tuple.Skip(rest)
		if err != nil {
			break
		}
		if size := len(rest) - len(after); size > e.FieldSize {
			e.Field, e.FieldSize = field, size
		}
		rest = after
	}
	if len(rest) > e.FieldSize {
		e.Field, e.FieldSize = "ID", len(rest)
	}
	return e
}

// EntryError says that an entry's bytes are not what the index writes.
type EntryError struct {
	Definition *Definition
	Key        []byte
	Reason     string
	Err        error // the cause, if any
}

// Error implements error.
func (e *EntryError) Error() string {
	s := fmt.Sprintf("index: %s: entry %q: %s", e.Definition.Name, e.Key, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }
