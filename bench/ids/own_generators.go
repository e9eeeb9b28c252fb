// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// ownGenerators are the generators of this module.
type ownGenerators struct {
	defaults   *idgen.Client // with default options
	wide       *idgen.Client // with more IDs a millisecond than a caller asks for
	standalone *idgen.Client
	ulids      idgen.ULIDSource
	uuids      idgen.UUIDSource
}

// newOwnGenerators leases from memory, and waits until the generators have their largest
// leases: they begin with less and ask for more when they need it.
func newOwnGenerators() (*ownGenerators, error) {
	provider, err := memory.New(memory.Options{Server: lease.Options{MaxThroughput: wide}})
	if err != nil {
		return nil, err
	}
	m := &ownGenerators{}
	if m.standalone, err = idgen.NewClient(idgen.Options{}); err != nil {
		return nil, err
	}
	if m.defaults, err = newLeased(provider, "defaults", 0); err != nil {
		return nil, err
	}
	if m.wide, err = newLeased(provider, "wide", wide); err != nil {
		return nil, errors.Join(err, m.defaults.Shutdown(context.Background()))
	}
	return m, nil
}

// newLeased makes a generator, and makes IDs with it until it has its largest lease.
func newLeased(provider idgen.LeaseProvider, service string, throughput int) (*idgen.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var o observer
	c, err := idgen.NewClient(idgen.Options{
		Provider: provider, ServiceID: service, DisableFallback: true, MaxThroughput: throughput, Observe: o.Observe,
	})
	if err != nil {
		return nil, err
	}
	if throughput == 0 {
		throughput = idgen.DefaultMaxThroughput
	}
	ids := make([]idgen.ID, 4096)
	for o.metrics().Throughput < throughput {
		if _, err := c.NextN(ctx, ids); err != nil && !errors.Is(err, idgen.ErrLeaseAcquisition) {
			return nil, errors.Join(err, c.Shutdown(context.Background()))
		}
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("the generator leases %d IDs a millisecond, not %d", o.metrics().Throughput, throughput),
				c.Shutdown(context.Background()))
		}
	}
	return c, nil
}

// Close releases the leases.
func (m *ownGenerators) Close() error {
	return errors.Join(m.defaults.Shutdown(context.Background()), m.wide.Shutdown(context.Background()))
}

// observer reads the metrics of one client.
type observer struct {
	read atomic.Pointer[func() idgen.Metrics]
}

func (o *observer) Observe(read func() idgen.Metrics) (forget func()) {
	o.read.Store(&read)
	return nil
}

func (o *observer) metrics() idgen.Metrics { return (*o.read.Load())() }
