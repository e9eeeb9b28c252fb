// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
)

// Options configure a [Provider] or a [Store]. The zero value is ready to use.
type Options struct {
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the leases. All programs that lease machine ids
	// from the database use the same. The default value is kazahana/leases.
	Path []string
	// Now reads the clock by which leases begin and end. Leases stay disjoint
	// whatever it says. The default value is time.Now.
	Now func() time.Time

	// Lease says what is leased, and for how long. Of its fields, Fresh is
	// always set: an engine forgets nothing that it has acknowledged. After a
	// database was restored from a backup while processes that lease from it
	// went on, call [lease.Server.Quarantine].
	Lease lease.Options
}

// Layout returns the layout that is configured for a service; the zero Layout
// means the default one.
func (o Options) Layout(serviceID string) idgen.Layout {
	if config, ok := o.Lease.Services[serviceOf(serviceID)]; ok {
		return config.Layout
	}
	return o.Lease.Default.Layout
}

// Provider leases machine ids from a database: an [idgen.LeaseProvider] for
// clients in this process. Any number of providers, in any number of processes,
// lease from one database; all of their leases are disjoint, whatever their
// clocks say. It is safe for concurrent use.
//
// An acquire is one transaction with a number of reads that does not depend on
// how many machine ids are taken; two of them conflict only if they draw the
// same of many free ones.
type Provider struct {
	*lease.Server
	store *Store

	mu      sync.Mutex // of granted's writers
	granted atomic.Pointer[[]grantedLease]
}

// grantedLease is a lease that this provider was granted, and for which service.
type grantedLease struct {
	idgen.Lease
	service string
}

var _ idgen.LeaseProvider = (*Provider)(nil)

// New returns a provider that leases from db. Nothing is read or written: the
// first acquire creates what is missing.
func New(db kv.Database, o Options) (*Provider, error) {
	store, err := NewStore(db, o)
	if err != nil {
		return nil, err
	}
	o.Lease.Fresh = true
	server, err := lease.NewServer(store, o.Lease)
	if err != nil {
		return nil, err
	}
	return &Provider{Server: server, store: store}, nil
}

// Acquire implements [idgen.LeaseProvider]; see [lease.Server.Acquire] for the
// errors. What it returns is remembered for [Provider.FenceOf].
func (p *Provider) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	leases, err := p.Server.Acquire(ctx, req)
	if err == nil {
		p.rememberLeases(serviceOf(req.ServiceID), leases)
	}
	return leases, err
}

func serviceOf(id string) string { return cmp.Or(id, lease.DefaultService) }

// maxGranted bounds the leases remembered: some days' worth of a client that
// needs several.
const maxGranted = 4096

// rememberLeases puts leases in front of those granted before.
func (p *Provider) rememberLeases(service string, leases []idgen.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []grantedLease
	for _, l := range leases {
		list = append(list, grantedLease{l, service})
	}
	if before := p.granted.Load(); before != nil {
		list = append(list, (*before)[:min(len(*before), maxGranted-len(list))]...)
	}
	p.granted.Store(&list)
}

// LeaseOf returns the lease, of those that this provider acquired for the
// service, under which an ID was made; false if there is none: the ID was made
// elsewhere, or without a lease, or too long ago. It reads nothing.
func (p *Provider) LeaseOf(serviceID string, id idgen.ID) (idgen.Lease, bool) {
	list := p.granted.Load()
	if list == nil {
		return idgen.Lease{}, false
	}
	service := serviceOf(serviceID)
	for i := range *list {
		if g := &(*list)[i]; g.service == service && g.contains(id) {
			return g.Lease, true
		}
	}
	return idgen.Lease{}, false
}

// contains reports whether an ID lies in the rectangle of the lease.
func (g *grantedLease) contains(id idgen.ID) bool {
	layout := g.Layout()
	at := layout.Time(id).UnixMilli()
	return at >= g.Created && at < g.Expired && layout.MachineID(id) == int(g.ID)
}

// FenceOf returns the condition that the positions at which an ID was made have
// not been granted again since, nor divided anew; false as for
// [Provider.LeaseOf]. It also holds for a lease that has ended or was released,
// until its positions are granted again: clients release leases while records
// are still to be written under IDs made before.
//
// IDs stay unique without it, since leases of one position are apart in time.
// With it, a process that was suspended until its machine id was granted again
// cannot write the IDs that it made before.
func (p *Provider) FenceOf(serviceID string, id idgen.ID) (Fence, bool) {
	l, ok := p.LeaseOf(serviceID, id)
	prefix := p.store.prefix.Load()
	if !ok || prefix == nil {
		return Fence{}, false
	}
	service := serviceOf(serviceID)
	key := append(servicePrefix(*prefix, service), lease.HolderKey(l)...)
	return Fence{key: key, owns: func(found []byte) error {
		err := lease.CheckHolder(service, l, found)
		if errors.Is(err, lease.ErrNotFound) {
			return &LostError{Name: fmt.Sprintf("machine %d of service %q", l.ID, service), Reason: err.Error(), Err: err}
		}
		return err
	}}, true
}
