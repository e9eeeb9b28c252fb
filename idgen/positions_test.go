// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestLeasedPositionsAreThoseOfTheProvider lets clients grow until the space is
// full, which it is at far fewer leases than there are machine ids: what they
// count together is what the provider lacks.
func TestLeasedPositionsAreThoseOfTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		layout := idgen.Layout{CustomEpochMs: 1, BitReserve: 8, BitTs: 41, BitID: 7, BitSeq: 8} // 64 machine ids of 256, 2^14 positions
		provider := idgen.Must(memory.New(memory.Options{Server: lease.Options{Logger: quiet, Default: lease.ServiceConfig{Layout: layout}}}))
		var clients []*idgen.Client
		for range 3 {
			c := idgen.Must(idgen.NewClient(idgen.Options{Provider: provider, Layout: layout, Logger: quiet}))
			clients = append(clients, c)
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			batch := make([]idgen.ID, 4096)
			for range 6 {
				_, _ = c.NextN(impatient, batch) // all of this millisecond
				time.Sleep(time.Minute)
			}
			if m := c.Metrics(); m.LeasedPerMs < 4096 {
				t.Errorf("a client that was busy has leased %d positions, want 4096", m.LeasedPerMs)
			}
			total, leases := 0, 0
			for _, c := range clients {
				m := c.Metrics()
				total, leases = total+m.LeasedPerMs, leases+m.ActiveLeases
			}
			if got := positions(t, provider); got != total {
				t.Errorf("%d clients have leased %d positions, the provider says %d", len(clients), total, got)
			}
			if 4*leases > len(clients)*64/2 {
				t.Errorf("%d leases: the space would be full by their number", leases)
			}
		}
		for _, c := range clients {
			if err := c.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if m := c.Metrics(); m.LeasedPerMs != 0 {
				t.Errorf("after its shutdown a client has leased %d positions", m.LeasedPerMs)
			}
		}
	})
}

// positions returns how many positions are leased.
func positions(t *testing.T, provider *memory.Provider) (total int) {
	t.Helper()
	page, err := provider.List(t.Context(), "", lease.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range page.Leases {
		total += 1 << l.BitSeq
	}
	return total
}
