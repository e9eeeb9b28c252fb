// SPDX-License-Identifier: Apache-2.0

package idgen

import "context"

// Source makes ids of type T: [ID], [ulid.ULID] or [UUID].
//
// Implementations must be safe for concurrent use and must never return the
// same id twice. Next may wait for the clock, no longer than ctx allows, but
// must not talk to a network: what it needs from elsewhere (a lease) is fetched
// in the background. An error means that no id was made; the id is then zero.
type Source[T any] interface {
	// Next returns a new id.
	Next(ctx context.Context) (T, error)
}

// Generator makes IDs. [*Client] is the one of this package.
type Generator = Source[ID]

// Must returns id and panics if err is not nil. It is for programs that cannot
// go on without an id: idgen.Must(ids.Next(ctx)).
func Must[T any](id T, err error) T {
	if err != nil {
		panic(err)
	}
	return id
}
