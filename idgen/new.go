// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"

	"github.com/oklog/ulid/v2"
)

// The sources behind NewULID, NewULIDString and NewUUID.
var (
	processULIDs ULIDSource
	processUUIDs UUIDSource
)

// NewID returns a new ID from [Default], or the zero ID where the generator
// cannot answer: the clock is outside the layout's range or was set back by too
// much, or a strict generator has no lease. It waits at most one second, for a
// clock that was set back or for the generator's first lease; where that has not
// come by then, the ID is a fallback ID.
//
// Before a generator is installed, the ID is one of the built-in generator,
// unique only by odds across processes: [NewInstalledID] returns zero there.
// Code that needs the error itself calls Default().Next(ctx). NewID is safe for
// concurrent use. Never call it inside a function that a transaction may run
// again: every attempt would have another ID.
func NewID() ID { return global.newID() }

// NewInstalledID is [NewID] where a generator was given to [SetDefault] or
// [InstallDefault]. Where none was, so that the default is the built-in one, it
// returns the zero ID. Generated constructors call it, unless several databases
// are open; the Create of a store asks for an ID again, with its ctx, for a record
// whose ID is zero, and returns the error.
func NewInstalledID() ID { return global.newInstalledID() }

// NewIDOf is [NewID] of a generator that the caller names, which need not be the
// default one. It waits at most one second, and returns the zero ID where the
// generator cannot answer.
func NewIDOf(g Generator) ID {
	c := choice{generator: g}
	c.client, _ = g.(*Client)
	id, err := c.newID()
	if err != nil {
		return 0
	}
	return id
}

// NewULID returns a new ULID from a [ULIDSource] of the process: greater than
// all that it returned before. It never waits, and returns the zero ULID only
// where the clock is after the year 10889, or before 1970 at the first call. It is
// safe for concurrent use; see [NewID] on transactions.
func NewULID() ulid.ULID {
	id, err := processULIDs.Next(context.Background())
	if err != nil {
		return ulid.Zero
	}
	return id
}

// NewULIDString returns [NewULID] in its text form, 26 characters that sort
// like the ULID. Where NewULID would return the zero ULID it returns "".
func NewULIDString() string {
	id := NewULID()
	if id == ulid.Zero {
		return ""
	}
	return id.String()
}

// NewUUID returns a new UUID of version 7 from a [UUIDSource] of the process:
// greater than all that it returned before. It never waits, and returns the
// zero UUID only where the clock is after the year 10889, or before 1970 at the
// first call. It is safe for concurrent use; see [NewID] on transactions.
func NewUUID() UUID {
	id, err := processUUIDs.Next(context.Background())
	if err != nil {
		return UUID{}
	}
	return id
}
