// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

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
// that, the built-in one, a standalone [Client] with default options, whose IDs
// are unique only by odds across processes. It is safe for concurrent use.
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

// ask asks a generator that was the default. If it was taken back and shut down
// meanwhile, ask returns the new default, which is to be asked next.
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
