// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// TestForeignEpoch: a lease of another epoch is refused, given back and told of.
func TestForeignEpoch(t *testing.T) {
	for _, change := range []func(*Lease){
		func(l *Lease) { l.CustomEpoch -= 1000 },
		func(l *Lease) { l.ReserveBits, l.TimestampBits = 2, 40 },
		func(l *Lease) { l.ReserveBits, l.MachineBits = 2, 13 },
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.mutate = change
			opts := Options{Layout: DefaultLayout(), DisableFallback: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			c, end := managed(t, g, opts)
			defer end()
			id, err := c.Next(t.Context())
			var mismatch *refusal.EpochMismatchError
			if id != 0 || !errors.As(err, &mismatch) || !errors.Is(err, ErrCustomEpochMismatch) || !errors.Is(err, ErrLeaseAcquisition) ||
				Layout(mismatch.Want) != DefaultLayout() {
				t.Errorf("Next = %d, %v; want an ErrCustomEpochMismatch in an ErrLeaseAcquisition", id, err)
			}
			if err := c.Ready(t.Context()); !errors.As(err, &mismatch) {
				t.Errorf("Ready: %v", err)
			}
			synctest.Wait()
			if r := g.releases(); len(r) != 1 || r[0].LastTs != r[0].Created-1 {
				t.Errorf("releases %+v, want the refused lease, unused", r)
			}
			if m := c.Metrics(); m.RejectedLeases != 1 || m.AcquireFailures != 1 {
				t.Errorf("metrics %+v, want one lease rejected", m)
			}
			c.lock() // the log is written by the keeper
			text := log.String()
			c.unlock()
			if !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "epoch mismatch") {
				t.Errorf("log %q does not tell of the epoch", text)
			}
		})
	}
}

// TestEpochIsDecidedOnce: by the options, else by the first lease; what leased IDs
// were made with stays.
func TestEpochIsDecidedOnce(t *testing.T) {
	custom := Layout{CustomEpoch: DefaultCustomEpoch - 1000_000, ReserveBits: 2, TimestampBits: 40, MachineBits: 14, SequenceBits: 8}
	t.Run("by the first lease", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.layout = custom
			c, end := managed(t, g, Options{})
			defer end()
			id := Must(c.Next(t.Context()))
			if c.Layout() != custom || !custom.Time(id).Equal(k.now().Truncate(time.Millisecond)) {
				t.Errorf("layout %+v, ID of %v; want %+v, now", c.Layout(), custom.Time(id), custom)
			}
			// An outage, and a provider that has changed its mind.
			g.set(func() { g.down = errDown })
			time.Sleep(11 * time.Minute)
			if id := Must(c.Next(ended)); !custom.IsFallback(id) || !custom.Time(id).Equal(k.now().Truncate(time.Millisecond)) {
				t.Errorf("fallback ID %d of %v does not keep the epoch", id, custom.Time(id))
			}
			g.set(func() { g.down, g.layout = nil, DefaultLayout() })
			time.Sleep(2 * time.Minute)
			if id := Must(c.Next(ended)); !custom.IsFallback(id) || c.Metrics().RejectedLeases == 0 {
				t.Errorf("ID %d was made under a lease of another epoch", id)
			}
		})
	})
}

// TestFirstLeaseAfterFallbackDecidesTheLayout starts in an outage, without a
// layout of its own: fallback IDs are made in the default one, until a lease says
// which is the service's. Then IDs are leased, and nothing else is believed.
func TestFirstLeaseAfterFallbackDecidesTheLayout(t *testing.T) {
	for _, custom := range []Layout{
		{CustomEpoch: DefaultCustomEpoch - 1000_000, ReserveBits: 2, TimestampBits: 40, MachineBits: 14, SequenceBits: 8},
		{CustomEpoch: DefaultCustomEpoch + 86_400_000, ReserveBits: 1, TimestampBits: 42, MachineBits: 10, SequenceBits: 11},
		{CustomEpoch: 0, ReserveBits: 1, TimestampBits: 42, MachineBits: 13, SequenceBits: 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.layout, g.down = custom, errDown
			c, end := managed(t, g, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			defer end()
			if id := Must(c.Next(t.Context())); !id.IsFallback() || !id.Time().Equal(k.now().Truncate(time.Millisecond)) {
				t.Errorf("ID %d of %v is not a fallback ID of now", id, id.Time())
			}
			g.set(func() { g.down = nil })
			time.Sleep(time.Minute)
			ids := make([]ID, 100)
			if n, err := c.NextN(t.Context(), ids); n != len(ids) || err != nil {
				t.Fatalf("NextN = %d, %v", n, err)
			}
			if c.Layout() != custom || !slices.IsSorted(ids) {
				t.Errorf("layout %+v, IDs in order: %v; want %+v, true", c.Layout(), slices.IsSorted(ids), custom)
			}
			for _, id := range ids {
				if d := k.now().Sub(custom.Time(id)); custom.IsFallback(id) || d < 0 || d > 10*time.Millisecond {
					t.Fatalf("ID %d of %v is not a leased one of now", id, custom.Time(id))
				}
			}
			g.set(func() { g.layout = DefaultLayout() })
			time.Sleep(10 * time.Minute)
			if id := Must(c.Next(ended)); c.Layout() != custom || c.Metrics().RejectedLeases == 0 {
				t.Errorf("ID %d was made in layout %+v after leases of another", id, c.Layout())
			}
			c.lock() // the log is written by the keeper
			text := log.String()
			c.unlock()
			if !strings.Contains(text, "Options.Layout") || !strings.Contains(text, "level=ERROR") {
				t.Errorf("log %q does not tell of the change of layouts", text)
			}
		})
	}
}

// TestLayoutChangesBehindTheLastMillisecond adopts a layout in the millisecond in
// which a fallback ID was made in another: a further ID is of a later one.
func TestLayoutChangesBehindTheLastMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		custom := Layout{CustomEpoch: DefaultCustomEpoch + 5000, ReserveBits: 1, TimestampBits: 42, MachineBits: 10, SequenceBits: 11}
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.layout, g.latency = custom, time.Minute
		c, end := managed(t, g, Options{})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := Must(c.Next(ctx))
		c.lock()
		err := c.checkLease(g.take(k.now().UnixMilli()))
		c.changeEra(c.randomEra(k.now().UnixMilli(), forever))
		c.unlock()
		if err != nil || c.Layout() != custom {
			t.Fatalf("layout %+v, %v", c.Layout(), err)
		}
		if next, err := c.Next(ended); err == nil {
			t.Errorf("an ID of %v after one of %v", custom.Time(next), first.Time())
		}
		time.Sleep(time.Millisecond)
		if next := Must(c.Next(ended)); !custom.Time(next).After(first.Time()) {
			t.Errorf("an ID of %v after one of %v", custom.Time(next), first.Time())
		}
	})
}

func TestUnusableAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		bad := leaseOf(k.now(), 5, 8)
		bad.Expired = bad.Created
		unsigned := leaseOf(k.now(), 5, 8)
		unsigned.Secret = ""
		for i, leases := range [][]Lease{nil, {bad}, {unsigned}} {
			c := Must(NewClient(Options{Provider: answers(func(AcquireRequest) ([]Lease, error) { return leases, nil }), Now: k.now, Logger: quiet, DisableFallback: true}))
			if id, err := c.Next(t.Context()); id != 0 || err == nil {
				t.Errorf("%d: Next = %d, %v", i, id, err)
			}
			_ = c.Shutdown(t.Context())
		}
	})
}

// TestOverlappingLeases come from a provider that is broken.
func TestOverlappingLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		provider := answers(func(AcquireRequest) ([]Lease, error) {
			return []Lease{leaseOf(k.now(), 1, 4), leaseOf(k.now(), 5, 2), leaseOf(k.now(), 1, 4)}, nil
		})
		c := Must(NewClient(Options{Provider: provider, Now: k.now, MaxThroughput: 36, Logger: quiet}))
		defer c.Shutdown(t.Context())
		Must(c.Next(t.Context()))
		time.Sleep(time.Millisecond)
		if got := positions(useUp(t, c)); !slices.Equal(got, run(16, 31)) {
			t.Errorf("positions %v, want 16 to 31 once", got)
		}
	})
}

func TestOptionsValidate(t *testing.T) {
	err := Options{DisableFallback: true, MaxThroughput: -1, AcquireRetryInterval: time.Hour, AcquireRetryMaxInterval: time.Minute}.Validate()
	if !errors.Is(err, ErrNoProvider) {
		t.Errorf("Validate: %v, want an ErrNoProvider", err)
	}
	for _, want := range []string{"MaxThroughput is -1", "AcquireRetryMaxInterval is 1m0s", "no provider"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, want it to say %q", err, want)
		}
	}
	if _, err := NewClient(Options{DisableFallback: true}); !errors.Is(err, ErrNoProvider) {
		t.Errorf("NewClient: %v, want an ErrNoProvider", err)
	}
	o := Options{}.withDefaults()
	if *o.MaxBackward != 5*time.Second || o.AcquireRetryInterval != time.Second || o.AcquireRetryMaxInterval != time.Minute ||
		o.Layout.CustomEpoch != time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() || o.Layout.TimestampBits != 41 || o.MaxThroughput != 4096 {
		t.Errorf("defaults %+v are not those of the specification", o)
	}
}
