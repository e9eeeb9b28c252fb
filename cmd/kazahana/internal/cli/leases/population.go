// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/lease"
)

const (
	countEvery  = 15 * time.Second // the age of a count that is made again: not each scrape lists the store
	countWithin = 8 * time.Second  // how long counting may take
	maxCounted  = 1000             // services that are counted
)

var (
	activeDesc = prometheus.NewDesc("kazahana_lease_active", "Leases that are valid, of all servers of the store.",
		[]string{"kazahana_service"}, nil)
	positionsDesc = prometheus.NewDesc("kazahana_lease_active_positions", "Positions of a millisecond that valid leases have: what is leased of the space.",
		[]string{"kazahana_service"}, nil)
)

// population counts the leases that are valid, by service.
type population struct {
	home *leasehome.Home
	now  func() time.Time

	mu      sync.Mutex
	counted time.Time
	active  map[string]active
	err     error
}

// active counts the leases of a service.
type active struct{ leases, positions int64 }

// Describe implements [prometheus.Collector].
func (p *population) Describe(descs chan<- *prometheus.Desc) {
	descs <- activeDesc
	descs <- positionsDesc
}

// Collect implements [prometheus.Collector].
func (p *population) Collect(metrics chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.counted.IsZero() || now.Sub(p.counted) >= countEvery {
		p.active, p.err = p.countLeases()
		p.counted = now
	}
	if p.err != nil { // it is logged, and the others are served
		metrics <- prometheus.NewInvalidMetric(activeDesc, p.err)
	}
	for id, a := range p.active {
		metrics <- prometheus.MustNewConstMetric(activeDesc, prometheus.GaugeValue, float64(a.leases), id)
		metrics <- prometheus.MustNewConstMetric(positionsDesc, prometheus.GaugeValue, float64(a.positions), id)
	}
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// countLeases lists the store. It counts what it can read; the error says what it cannot.
func (p *population) countLeases() (map[string]active, error) {
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	found := map[string]active{}
	var unread []error
	err := p.home.EachService(ctx, func(id string) error {
		if len(found) == maxCounted {
			return errEnough
		}
		a, err := p.countService(ctx, id)
		switch {
		case errors.Is(err, lease.ErrUnknownService): // it is no longer served
			return nil
		case lease.IsUnreadable(err):
			unread = append(unread, err)
		case err != nil:
			return err
		}
		found[id] = a
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return found, errors.Join(unread...)
}

// countService lists the leases of a service.
func (p *population) countService(ctx context.Context, id string) (a active, err error) {
	err = p.home.EachLease(ctx, id, lease.ListOptions{}, func(info lease.Info) error {
		a.leases++
		a.positions += 1 << info.BitSeq
		return nil
	})
	return a, err
}
