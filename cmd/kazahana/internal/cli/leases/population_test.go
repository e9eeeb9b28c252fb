// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestPopulation checks the counts of leases and positions, and that not each scrape lists the
// store.
func TestPopulation(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(service string, throughput int) {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service, ThroughputPerMs: throughput}); err != nil {
			t.Fatal(err)
		}
	}
	acquire("a", 1)
	acquire("a", 1000)
	acquire("b", 1)
	now := time.Now()
	p := &population{home: &leasehome.Home{List: provider.List, Services: provider.Services}, now: func() time.Time { return now }}
	got, err := p.countLeases()
	if err != nil || len(got) != 2 || got["a"] != (active{2, 1280}) || got["b"] != (active{1, 256}) {
		t.Errorf("counted %v, %v", got, err)
	}
	calls := 0
	p.home.List = func(ctx context.Context, service string, o lease.ListOptions) (lease.Page, error) {
		calls++
		return provider.List(ctx, service, o)
	}
	for range 3 {
		metrics := make(chan prometheus.Metric, 10)
		p.Collect(metrics)
		if len(metrics) != 4 {
			t.Errorf("%d metrics, want 4", len(metrics))
		}
		now = now.Add(countEvery / 2)
	}
	if calls != 4 {
		t.Errorf("%d listings, want those of two services at the beginning and after %v", calls, countEvery)
	}
}

// TestPopulationPassesOver: a block and a service that cannot be read, of whatever version, leave the counts
// of the others.
func TestPopulationPassesOver(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"a", "b", "c"} {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service}); err != nil {
			t.Fatal(err)
		}
	}
	newer := fmt.Errorf("key x: %w", lease.ErrNewer)
	list := func(ctx context.Context, service string, o lease.ListOptions) (lease.Page, error) {
		page, err := provider.List(ctx, service, o)
		switch service {
		case "a":
			return page, fmt.Errorf("list: %w", errors.Join(newer, &lease.CorruptError{Cause: errors.New("why")}))
		case "b":
			return lease.Page{}, fmt.Errorf("list: %w", newer)
		}
		return page, err
	}
	p := &population{home: &leasehome.Home{List: list, Services: provider.Services}, now: time.Now}
	got, err := p.countLeases()
	if len(got) != 3 || got["a"].leases != 1 || got["c"].leases != 1 || !errors.Is(err, lease.ErrNewer) || !errors.Is(err, lease.ErrCorrupt) {
		t.Errorf("counted %v, %v", got, err)
	}
	metrics := make(chan prometheus.Metric, 10)
	p.Collect(metrics)
	if len(metrics) != 7 {
		t.Errorf("%d metrics, want two of each service, and an error", len(metrics))
	}
}
