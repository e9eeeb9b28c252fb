// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
)

// Generator makes IDs. [*Client] is the one of this package.
//
// Implementations must be safe for concurrent use and must never return the
// same id twice. Next may wait for the clock, no longer than ctx allows, but
// must not talk to a network: what it needs from elsewhere (a lease) is fetched
// in the background. An error means that no id was made; the id is then zero.
type Generator interface {
	// Next returns a new id.
	Next(ctx context.Context) (ID, error)
}

// Must returns id and panics if err is not nil. It is for programs that cannot
// go on without an id: idgen.Must(ids.Next(ctx)).
func Must[T any](id T, err error) T {
	if err != nil {
		panic(err)
	}
	return id
}

// defaults decides which generator is the default one: the program's choice
// if it made one, otherwise the one that was installed first and is still
// installed, otherwise a standalone client.
type defaults struct {
	current atomic.Pointer[choice] // what Default returns; written under mu

	mu        sync.Mutex
	builtIn   *choice
	program   *choice
	installed []*choice
}

// choice is one candidate. Its address tells two installations of the same
// generator apart.
type choice struct {
	generator Generator
	client    *Client // the same if it is a *Client: a direct call on the hot path
}

func newChoice(g Generator) *choice {
	client, _ := g.(*Client)
	return &choice{generator: g, client: client}
}

func newDefaults(builtIn Generator) *defaults {
	d := &defaults{builtIn: newChoice(builtIn)}
	d.current.Store(d.builtIn)
	return d
}

// global is used by Default, SetDefault, InstallDefault and NewID.
var global = newDefaults(Must(NewClient(Options{})))

// Default returns the generator that [NewID] uses: the one given to
// [SetDefault]; failing that, the one installed by [InstallDefault]; failing
// that, the built-in one: a standalone [Client] with default options. Its IDs are
// only probably unique across processes. It is safe for concurrent use.
func Default() Generator { return global.current.Load().generator }

// Installed reports whether [Default] was given to [SetDefault] or
// [InstallDefault], that is, whether it is not the built-in generator. It is
// safe for concurrent use.
func Installed() bool { return global.current.Load() != global.builtIn }

// Chosen reports whether [Default] was given to [SetDefault]: the program has
// chosen it, and no library has. It is safe for concurrent use.
func Chosen() bool { return global.chosen() }

// SetDefault makes g the default generator, whatever libraries install with
// [InstallDefault], before or after. nil takes the program's choice back. Call
// it from main, not from a library. It is safe for concurrent use.
func SetDefault(g Generator) { global.set(g) }

// InstallDefault offers g as the default generator, for a library that has a
// better one than a standalone [Client], such as one leased from a database.
// The offer counts only while the program has made no choice with
// [SetDefault]; among several offers the oldest counts. uninstall takes the
// offer back, which must happen before g stops working; calling it again does
// nothing. Both are safe for concurrent use. A nil generator panics.
func InstallDefault(g Generator) (uninstall func()) { return global.install(g) }

func (d *defaults) chosen() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.program != nil
}

func (d *defaults) set(g Generator) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program = nil
	if g != nil {
		d.program = newChoice(g)
	}
	d.choose()
}

func (d *defaults) install(g Generator) (uninstall func()) {
	if g == nil {
		panic("idgen: InstallDefault of a nil generator")
	}
	c := newChoice(g)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.installed = append(d.installed, c)
	d.choose()
	return func() { d.uninstall(c) }
}

func (d *defaults) uninstall(c *choice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.installed = slices.DeleteFunc(d.installed, func(other *choice) bool { return other == c })
	d.choose()
}

// choose publishes the best candidate. The caller holds mu.
func (d *defaults) choose() {
	switch {
	case d.program != nil:
		d.current.Store(d.program)
	case len(d.installed) > 0:
		d.current.Store(d.installed[0])
	default:
		d.current.Store(d.builtIn)
	}
}

// newIDWait is how long NewID waits for a clock that was set back, and for the
// first lease.
const newIDWait = time.Second

// noWait has ended: a Client given it answers at once or not at all.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// newID asks the default generator, patient enough for a small step of the
// clock and no more.
func (d *defaults) newID() (id ID) {
	for c := d.current.Load(); c != nil; {
		id, c = d.ask(c)
	}
	return id
}

// newInstalledID is newID while the default is not the built-in generator, and
// returns 0 while it is.
func (d *defaults) newInstalledID() (id ID) {
	for c := d.current.Load(); c != nil && c != d.builtIn; {
		id, c = d.ask(c)
	}
	return id
}

// ask asks a generator that was the default. If it has been taken back and shut down
// since then, ask returns the new default, which is to be asked next.
func (d *defaults) ask(c *choice) (id ID, next *choice) {
	id, err := c.newID()
	if err == nil {
		return id, nil
	}
	if next = d.current.Load(); next == c || !errors.Is(err, ErrClosed) {
		next = nil
	}
	return 0, next
}

// newID asks the generator. The context that can wait is made only when needed.
func (c *choice) newID() (ID, error) {
	if c.client != nil {
		if id, err := c.client.Next(noWait); err == nil {
			return id, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), newIDWait)
	defer cancel()
	return c.generator.Next(ctx)
}

// The sources that NewULID, NewULIDString and NewUUID use.
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
// are open. For a record with a zero ID the Create of a store asks again, with its
// ctx, and returns the error.
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
