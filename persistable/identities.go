// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/directory"
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
// up to a second, Create as long as ctx allows. While no machine id can be leased, and
// the last lease is over, constructors leave the id zero, and Create returns an error,
// unless Fallback is set. A program waits for the lease by [idgen.Client.Ready] of
// [DB.IDs].
//
// A program may open several databases. A store's New and Create make ids of the
// store's own database. While DBs are open whose ids could be equal, because they come
// from different databases, the package-level constructors leave the id zero, and
// Create makes it; elsewhere use o.ID, err = db.IDs().Next(ctx). DBs that lease from
// one engine value, or were given one Generator, make no equal ids. Create, Save,
// GetOrCreate and their batches create no record under an id that another open database
// has made: they return a *[FieldError]. CreateWithID does, and Save over the record then.
type IDOptions struct {
	// Generator makes the ids of the DB's stores instead, even if the program has
	// chosen another one by [idgen.SetDefault], and is offered as the default. The
	// program closes it. The default value leases from the database.
	Generator idgen.Generator
	// Off offers no generator and leases nothing: Create takes ids from
	// [idgen.Default], as constructors do if that was installed or chosen. A
	// program that wants the standalone generator in its constructors chooses
	// it: idgen.SetDefault(idgen.Default()). The default value is false.
	Off bool
	// Fallback lets the generator of the DB make fallback ids while no machine id can be
	// leased: for as long as the last lease lasted they are unique, then only probably so;
	// see [idgen.Client]. Random ones begin after a failed try to lease, which may take
	// five seconds: until then Create waits as long as ctx allows. Set it where ids are needed while the database cannot be
	// reached, or while more processes use it than there are machine ids. The default
	// value is false: without a lease there is no id.
	Fallback bool
	// Fenced makes the creation of a record under an id of type idgen.ID conflict
	// with every change of the machine id's owner; see [leasefdb.Provider.FenceOf].
	// The creation fails with an [ErrFenced] if this DB did not make the id under
	// a lease, as with a standalone generator or a fallback id, or if another
	// process owns the machine id by now. CreateWithID and a Save over a stored
	// record are not fenced. Each creation reads one key more, in the same round.
	// The default value is false.
	Fenced bool

	// Leases say where leases are kept and how long they last. All programs
	// that lease from the database must use the same. The layer is that of
	// [Options]; the default path is kazahana/leases.
	Leases leasefdb.Options
	// Client configures the generator. Its Provider, DisableFallback and
	// FallbackAfterFailure are set by Open. Its default Layout is that of the leases, its
	// default AcquireRetryMaxInterval ten seconds: a database that is back can soon create
	// records.
	Client idgen.Options
}

// retryMaxInterval is the default of the client's AcquireRetryMaxInterval.
const retryMaxInterval = 10 * time.Second

func (o IDOptions) validate() error {
	leased := !o.Off && o.Generator == nil
	switch {
	case o.Off && o.Generator != nil:
		return errors.New("persistable: Options.IDs has a Generator, but is Off")
	case o.Fenced && !leased:
		return errors.New("persistable: Options.IDs is Fenced, but the DB leases no ids: a Generator was given, or it is Off")
	case o.Client.Provider != nil:
		return errors.New("persistable: Options.IDs.Client has a Provider: give the generator made with it as Options.IDs.Generator")
	case o.Fallback && !leased:
		return errors.New("persistable: Options.IDs has Fallback, but the DB leases no ids: a Generator was given, or it is Off")
	case o.Fallback && o.Client.DisableFallback:
		return errors.New("persistable: Options.IDs has Fallback, but its Client has DisableFallback")
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
	origin    any // of the ids: see sameOrigin; nil if the DB has no generator

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
		ids.origin = o.IDs.Generator
		ids.install(o.IDs.Generator)
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
	o.IDs.Client.DisableFallback, o.IDs.Client.FallbackAfterFailure = !o.IDs.Fallback, true
	if o.IDs.Client.AcquireRetryMaxInterval == 0 {
		o.IDs.Client.AcquireRetryMaxInterval = max(retryMaxInterval, o.IDs.Client.AcquireRetryInterval)
	}
	if ids.client, err = idgen.NewClient(o.IDs.Client); err != nil {
		return nil, err
	}
	ids.origin = leaseOrigin{engine, o.Layer, fmt.Sprintf("%q", leases.Path), o.IDs.Client.ServiceID}
	ids.install(ids.client)
	return ids, nil
}

// leaseOrigin is the origin of ids that are leased. Two DBs of one engine value make no
// equal ids; two engines may be one cluster, which nothing here can tell.
type leaseOrigin struct {
	engine        kv.Database
	layer         *directory.Layer
	path, service string
}

// install offers the DB's generator as the default one.
func (ids *identities) install(g idgen.Generator) {
	uninstall := idgen.InstallDefault(g)
	makers.add(ids)
	ids.uninstall = func() {
		makers.remove(ids)
		uninstall()
	}
}

// own returns the generator of the DB: one that it was given; or else its client,
// unless the program has chosen a generator for all its records. It is nil if the DB has
// none: then the default generator makes the ids.
func (ids *identities) own() idgen.Generator {
	switch {
	case ids.options.Generator != nil:
		return ids.options.Generator
	case ids.client == nil || idgen.Chosen():
		return nil
	}
	return ids.client
}

// newID is what a store's New calls: it waits a second at most, and returns 0 where no
// id can be made.
func (ids *identities) newID() idgen.ID {
	if g := ids.own(); g != nil {
		return idgen.NewIDOf(g)
	}
	return newSharedID()
}

// makeFor makes an id for a record and sets it.
func (ids *identities) makeFor(ctx context.Context, r *record, v any) error {
	field := r.ID(v)
	kazahana, ok := field.(*idgen.ID)
	own := ids.own()
	if !ok || own == nil {
		return r.IDs.Make(ctx, field)
	}
	id, err := own.Next(ctx)
	switch {
	case err == nil:
		*kazahana = id
	case errors.Is(err, idgen.ErrClosed) && ids.options.Generator == nil:
		err = ids.closedError(err)
	}
	return err
}

// idFence is what a new record's id depends on: the zero value is nothing.
type idFence struct {
	fence   leasefdb.Fence
	lost    error // why the fence does not hold
	foreign error // a *[FieldError]: another database has made the id
}

// fenceOf returns what the id of a record depends on. It has a fence if creations are fenced.
func (ids *identities) fenceOf(ctx context.Context, r *record, v any) (f idFence, err error) {
	id, ok := r.ID(v).(*idgen.ID)
	if !ok {
		return f, nil
	}
	fault, err := ids.checkOwn(ctx, *id)
	if err != nil {
		return f, err
	}
	if fault != "" {
		f.foreign = &FieldError{Type: r.Type, Field: "ID", Reason: fault}
	}
	if !ids.options.Fenced {
		return f, nil
	}
	if f.fence, ok = ids.provider.FenceOf(ids.options.Client.ServiceID, *id); !ok {
		f.lost = &leasefdb.LostError{
			Name:   fmt.Sprintf("the machine id of %d", int64(*id)),
			Reason: "the id was made without a lease of this DB: by another generator, in fallback, or too long ago",
		}
	}
	return f, nil
}

// makers are the identities of all open DBs that have a generator.
var makers makerList

// makerList is the only state that the DBs of a process share, besides the default
// generator: it keeps each from the ids of the others.
type makerList struct {
	mu      sync.Mutex // of writers
	open    atomic.Pointer[[]*identities]
	several atomic.Bool // they have several origins
}

func (l *makerList) add(ids *identities) {
	l.change(func(open []*identities) []*identities { return append(open, ids) })
}

func (l *makerList) remove(ids *identities) {
	l.change(func(open []*identities) []*identities {
		return slices.DeleteFunc(open, func(other *identities) bool { return other == ids })
	})
}

func (l *makerList) change(fn func(open []*identities) []*identities) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := fn(slices.Clone(l.all()))
	l.open.Store(&open)
	l.several.Store(slices.ContainsFunc(open, func(ids *identities) bool { return !sameOrigin(ids, open[0]) }))
}

// sameOrigin reports whether two DBs make no equal ids, because the ids of both are of
// one origin. Engines of a type without == are never the same.
func sameOrigin(a, b *identities) (same bool) {
	defer func() { _ = recover() }()
	return a == b || a.origin == b.origin
}

func (l *makerList) all() []*identities {
	if open := l.open.Load(); open != nil {
		return *open
	}
	return nil
}

// newSharedID is what constructors call that know no database: the program's choice
// makes the id, or the generator of the open DBs if all their ids have one origin.
func newSharedID() idgen.ID {
	if makers.several.Load() && !idgen.Chosen() {
		return 0
	}
	return idgen.NewInstalledID()
}

// checkOwn returns why an id is none of the DB's: it lies in a lease that another open
// DB was granted, in none of the DB's own, and the two lease from different databases.
func (ids *identities) checkOwn(ctx context.Context, id idgen.ID) (fault string, err error) {
	if ids.client == nil || !makers.several.Load() || idgen.Chosen() {
		return "", nil
	}
	if _, own := ids.provider.LeaseOf(ids.options.Client.ServiceID, id); own {
		return "", nil
	}
	for _, other := range makers.all() {
		if other.client == nil || sameOrigin(other, ids) {
			continue
		}
		if _, made := other.provider.LeaseOf(other.options.Client.ServiceID, id); !made {
			continue
		}
		if same, err := ids.sharesLeases(ctx, other); same || err != nil {
			return "", err
		}
		return fmt.Sprintf("it is %d, which another database that is open in this program has made: a record of this one may have the same. "+
			"Make the record with the store's New, or leave the id zero; to copy a record from the other database, use CreateWithID", int64(id)), nil
	}
	return "", nil
}

// sharesLeases reports whether two DBs lease from the same database, by two engines.
func (ids *identities) sharesLeases(ctx context.Context, other *identities) (bool, error) {
	mine, err := ids.provider.Incarnation(ctx, ids.options.Client.ServiceID)
	if err != nil || mine == "" {
		return false, err
	}
	theirs, err := other.provider.Incarnation(ctx, other.options.Client.ServiceID)
	return mine == theirs, err
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
