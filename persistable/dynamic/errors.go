// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/persistable"
)

// SeveralTypesError says that [Open] got no type for a directory that has stores of several
// types: one of Types must be named.
type SeveralTypesError struct {
	Path  []string // of the directory
	Types []string // in the order of their names
}

// Error implements error.
func (e *SeveralTypesError) Error() string {
	return fmt.Sprintf("dynamic: the directory %q has stores of several types: %s: name one", strings.Join(e.Path, "/"), strings.Join(e.Types, ", "))
}

// NoStoreError says that a directory exists, but has no store of the type that [Open] got,
// or no store at all. It is a [persistable.ErrNotFound].
type NoStoreError struct {
	Path  []string // of the directory
	Type  string   // "" if Open got none
	Types []string // which the directory has, in the order of their names
}

// Error implements error.
func (e *NoStoreError) Error() string {
	return fmt.Sprintf("%v: the directory %q has %s", persistable.ErrNotFound, strings.Join(e.Path, "/"), e.Reason())
}

// Reason says what the directory has instead, without its path.
func (e *NoStoreError) Reason() string {
	if len(e.Types) == 0 {
		return "no store of any type"
	}
	return fmt.Sprintf("no store of %s; it has %s", e.Type, strings.Join(e.Types, ", "))
}

// Unwrap returns [persistable.ErrNotFound].
func (e *NoStoreError) Unwrap() error { return persistable.ErrNotFound }

// ValueError is what is wrong with the JSON of a record.
type ValueError struct {
	Type   string // of the record
	Member string // the names that lead to it, such as Address.Zip or Lines[2].Price; "" for the whole
	Line   int    // of the text, from 1
	Reason string // what is wrong, and what is wanted
}

// Error implements error.
func (e *ValueError) Error() string {
	where := fmt.Sprintf("line %d", e.Line)
	if e.Member != "" {
		where += ", " + e.Member
	}
	return fmt.Sprintf("dynamic: no record of %s: %s: %s", e.Type, where, e.Reason)
}

// WhereError is what is wrong with a condition.
type WhereError struct {
	Type string // of the records
	Text string // the condition
	Err  error
}

// excerpt quotes the beginning of a condition.
func excerpt(text string) string {
	if len(text) > 300 {
		return fmt.Sprintf("%.300q… (%d bytes)", text, len(text))
	}
	return fmt.Sprintf("%q", text)
}

// Error implements error.
func (e *WhereError) Error() string {
	return fmt.Sprintf("dynamic: the condition %s on %s: %v", excerpt(e.Text), e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *WhereError) Unwrap() error { return e.Err }
