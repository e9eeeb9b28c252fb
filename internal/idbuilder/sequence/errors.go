// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

var (
	// ErrClosed says that the Pool is closed.
	ErrClosed = errors.New("sequence: the pool is closed")
	// ErrDirection says that a caller wants to change the direction of a sequence, which would
	// then give numbers that it gave before.
	ErrDirection = errors.New("sequence: a sequence cannot change its direction")
	// ErrRewound says that the store reserved numbers that this pool may have given before:
	// the sequence was set back, or the store lost data. The pool gives only the numbers in
	// its memory until [Pool.Drop] confirms that the sequence was set back on purpose.
	ErrRewound = errors.New("sequence: the store gave numbers that it had given before")
)

// ExhaustedError says that the numbers of a request do not fit before the bound of the
// sequence. Smaller requests may succeed. It wraps [store.ErrExhausted].
type ExhaustedError struct {
	Name  string
	Bound int64
	// Room is how far the last number of a request may lie from the number before its
	// first one: Count times Delta. It may be less when several pools share the
	// sequence.
	Room uint64
}

// Error implements error.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("sequence %q: the request does not fit before the bound %d; the last number may be at most %d further: %v", e.Name, e.Bound, e.Room, store.ErrExhausted)
}

// Unwrap returns [store.ErrExhausted].
func (*ExhaustedError) Unwrap() error { return store.ErrExhausted }
