// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
)

var (
	// ErrNotFound says that there is no such document or sequence.
	ErrNotFound = errors.New("store: not found")
	// ErrConflict says that another caller has changed the document or sequence since.
	ErrConflict = errors.New("store: changed by another caller since it was read")
	// ErrExhausted says that the sequence has no further number within its bound.
	ErrExhausted = errors.New("store: the sequence is exhausted")
	// ErrReadOnly says that the store can be read, but not written.
	ErrReadOnly = errors.New("store: read-only")
	// ErrLost says that the store has lost, or may have lost, reservations that it made, so
	// that it could make them again. It makes none until an operator confirms, see
	// [Confirmer].
	ErrLost = errors.New("store: it has, or may have, lost data; it gives no numbers until an operator confirms")
	// ErrNoSchema says that nothing is stored there. [Store.Init] creates the schema of a
	// new store.
	ErrNoSchema = errors.New("store: there is no schema; initialise the store, or check that it is the right one")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store: closed")
)

// ErrNewer says that a newer version of this program wrote what the store holds. Nothing is
// damaged, and nothing was changed: run that version. It is lease.ErrNewer.
var ErrNewer = newer.Err

// SchemaError says that the store has the schema of a newer version of this program. It is
// an [ErrNewer].
type SchemaError struct {
	Found     int // version in the store
	Supported int // newest version that this program knows
}

// Error implements error.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("store: %v: the schema has version %d, this program knows versions up to %d; run that version or a later one", ErrNewer, e.Found, e.Supported)
}

// Is reports whether target is [ErrNewer].
func (e *SchemaError) Is(target error) bool { return target == ErrNewer }

// IsUnreadable reports whether an error says of what is stored that it cannot be read: a [*CorruptError]
// or an [ErrNewer]. A list can go on with the next document.
func IsUnreadable(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, ErrNewer)
}

// CorruptError says that stored data cannot be used: it is not as the store wrote it, or, if
// the error is an [ErrNewer], a newer version wrote it.
type CorruptError struct {
	Where  string // the file or key
	Reason string
	Err    error // may be nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	if errors.Is(e.Err, ErrNewer) {
		return fmt.Sprintf("store: %s: %v", e.Where, e.Err)
	}
	text := fmt.Sprintf("store: %s: %s", e.Where, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
