// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// IDOptions say where the kazahana ids of new records come from. With the zero
// value they are made by an [idgen.Client] of the DB, under machine ids leased
// from the database itself: unique across all processes that open it so,
// without anything to configure. The DB offers the client as the default
// generator, by [idgen.InstallDefault]. The generated constructors use that one,
// unless the program has chosen another with [idgen.SetDefault]. While there is
// neither, before Open and after Close, constructors leave the id zero.
//
// The first id leases a machine id in one transaction. A constructor waits for it
// up to a second, Create as long as ctx allows. While no machine id can be leased,
// ids are fallback ids: see [idgen.Client]. A program waits for the lease by
// [idgen.Client.Ready] of [DB.IDs].
//
// A program that opens several databases has one default generator, that of the
// database opened first. Its ids are unique in that database. For records of
// another database use its ids: o.ID, err = db.IDs().Next(ctx). An id that Create
// makes is always of Create's own database.
type IDOptions struct {
	// Generator makes the ids instead, and is offered as the default. The
	// program closes it. The default value leases from the database.
	Generator idgen.Generator
	// Off offers no generator and leases nothing: Create takes ids from
	// [idgen.Default], as constructors do if that was installed or chosen. A
	// program that wants the standalone generator in its constructors chooses
	// it: idgen.SetDefault(idgen.Default()). The default value is false.
	Off bool
	// Fenced makes the creation of a record under an id of type idgen.ID conflict
	// with every change of the machine id's owner; see [leasefdb.Provider.FenceOf].
	// The creation fails with a *[FenceError] if this DB did not make the id under
	// a lease, as with a standalone generator or a fallback id, or if another
	// process owns the machine id by now. CreateWithID and a Save over a stored
	// record are not fenced. Each creation reads one key more, in the same round.
	// The default value is false.
	Fenced bool

	// Leases say where leases are kept and how long they last. All programs
	// that lease from the database must use the same. The layer is that of
	// [Options]; the default path is kazahana/leases.
	Leases leasefdb.Options
	// Client configures the generator. Its Provider is set by Open, its default
	// Layout is that of the leases.
	Client idgen.Options
}

func (o IDOptions) validate() error {
	leased := !o.Off && o.Generator == nil
	switch {
	case o.Off && o.Generator != nil:
		return errors.New("persistable: Options.IDs has a Generator, but is Off")
	case o.Fenced && !leased:
		return errors.New("persistable: Options.IDs is Fenced, but the DB leases no ids: a Generator was given, or it is Off")
	case o.Client.Provider != nil:
		return errors.New("persistable: Options.IDs.Client has a Provider: give the generator made with it as Options.IDs.Generator")
	case !leased:
		return nil
	}
	o.Client.Provider = new(leasefdb.Provider) // it will have one
	return o.Client.Validate()
}

// identities are the generator of a DB and its leases. DBs made by Under share
// them.
type identities struct {
	options   IDOptions
	provider  *leasefdb.Provider // nil if nothing is leased
	client    *idgen.Client      // nil if nothing is leased
	uninstall func()

	engineClosed atomic.Bool // the DB closed itself because its engine was closed

	once sync.Once
	err  error // of closing
}

func newIdentities(engine kv.Database, o Options) (*identities, error) {
	ids := &identities{options: o.IDs, uninstall: func() {}}
	switch {
	case o.IDs.Off:
		return ids, nil
	case o.IDs.Generator != nil:
		ids.uninstall = idgen.InstallDefault(o.IDs.Generator)
		return ids, nil
	}
	leases := o.IDs.Leases
	leases.Layer = o.Layer
	var err error
	if ids.provider, err = leasefdb.New(engine, leases); err != nil {
		return nil, err
	}
	o.IDs.Client.Provider = untilClosed{ids.provider, ids}
	if o.IDs.Client.Layout == (idgen.Layout{}) {
		o.IDs.Client.Layout = leases.Layout(o.IDs.Client.ServiceID)
	}
	if ids.client, err = idgen.NewClient(o.IDs.Client); err != nil {
		return nil, err
	}
	leasing.Store(ids.client, nil)
	uninstall := idgen.InstallDefault(ids.client)
	ids.uninstall = func() {
		uninstall()
		leasing.Delete(ids.client)
	}
	return ids, nil
}

// leasing holds the clients of all open DBs that lease.
var leasing sync.Map // *idgen.Client → nothing

// ownClient returns the DB's client if Create must use it: if the default
// generator is that of this DB or of another one, not one that the program has
// chosen; or if none is installed, because the DB is closed: its client then returns
// an error, while the built-in generator would make an id without a lease.
// Otherwise it returns nil.
func (ids *identities) ownClient() *idgen.Client {
	if ids.client == nil || !idgen.Installed() {
		return ids.client
	}
	standard, ok := idgen.Default().(*idgen.Client)
	if !ok {
		return nil
	}
	if _, ok = leasing.Load(standard); !ok {
		return nil
	}
	return ids.client
}

// closedError says why the DB's client, which answered err, is shut down.
func (ids *identities) closedError(err error) error {
	if ids.engineClosed.Load() {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return fmt.Errorf("the DB is closed: %w", err)
}

// untilClosed is the provider of a DB. It closes the DB when the engine returns
// kv.ErrClosed: nothing can be leased any more.
type untilClosed struct {
	*leasefdb.Provider
	ids *identities
}

// Acquire implements [idgen.LeaseProvider].
func (p untilClosed) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	leases, err := p.Provider.Acquire(ctx, req)
	if errors.Is(err, kv.ErrClosed) {
		p.ids.engineClosed.Store(true)
		go func() { _ = p.ids.close() }() // waits for this call
	}
	return leases, err
}

// closeTimeout is how long Close waits for the database.
const closeTimeout = 5 * time.Second

func (ids *identities) close() error {
	ids.once.Do(func() {
		ids.uninstall()
		if ids.client == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := ids.client.Shutdown(ctx); err != nil && !errors.Is(err, kv.ErrClosed) {
			ids.err = fmt.Errorf("persistable: close: %w", err)
		}
	})
	return ids.err
}
