// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// useUp makes all IDs of the current millisecond and asks for one more.
func useUp(t *testing.T, c *Client) (ids []ID) {
	t.Helper()
	ids = make([]ID, 1<<16)
	n, err := c.NextN(ended, ids)
	if err == nil {
		t.Fatalf("%d IDs in a millisecond", n)
	}
	return ids[:n]
}

func TestThroughputGrowsWhenAMillisecondWasUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.next, g.latency = 100, 3*time.Millisecond
		c, end := managed(t, g, Options{})
		defer end()
		Must(c.Next(t.Context()))
		time.Sleep(time.Millisecond)
		last := ID(0)
		for _, want := range []int{256, 1024, 4096, 4096} {
			start := time.Now()
			ids := useUp(t, c)
			if len(ids) != want {
				t.Errorf("%d IDs in a millisecond, want %d", len(ids), want)
			}
			for _, id := range ids {
				if id <= last || id.IsFallback() {
					t.Fatalf("ID %d (fallback %v) after %d", id, id.IsFallback(), last)
				}
				last = id
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("NextN took %v: it waited for the provider", took)
			}
			time.Sleep(20 * time.Millisecond)
		}
		var asked []int
		for _, r := range g.requests() {
			asked = append(asked, r.Throughput)
		}
		if len(asked) != 3 || asked[0] != 256 || asked[1] != 1024 || asked[2] != 4096 {
			t.Errorf("asked for %d, want 256, 1024, 4096", asked)
		}
		if m := c.Metrics(); m.ActiveLeases != 16 || m.Exhausted != 4 {
			t.Errorf("metrics %+v, want 16 leases, 4 times exhausted", m)
		}
		time.Sleep(time.Second)
		if n := len(g.releases()); n != 5 {
			t.Errorf("%d small leases were given back, want 1 and 4", n)
		}
		// What is not needed any more is not asked for again.
		time.Sleep(2 * g.duration)
		Must(c.Next(ended))
		req := g.requests()
		if n := req[len(req)-1].Throughput; n != 256 {
			t.Errorf("an idle client asks for %d, want 256", n)
		}
	})
}

// answers is a provider with given answers.
type answers func(AcquireRequest) ([]Lease, error)

func (f answers) Acquire(_ context.Context, req AcquireRequest) ([]Lease, error) { return f(req) }
func (f answers) Release(context.Context, ReleaseRequest) error                  { return nil }

// leaseOf returns a lease of the default layout for ten minutes.
func leaseOf(now time.Time, id int64, bitSeq int) Lease {
	return Lease{
		ID: id, Created: now.UnixMilli(), Expired: now.UnixMilli() + 600_000, Secret: "secret", CustomEpoch: DefaultCustomEpoch,
		ReserveBits: 1, TimestampBits: 41, MachineBits: 22 - bitSeq, SequenceBits: bitSeq,
	}
}

// positions returns the bits below the timestamp.
func positions(ids []ID) (p []int) {
	for _, id := range ids {
		p = append(p, int(uint64(id)&(1<<22-1)))
	}
	return p
}

// run returns the numbers from first to last.
func run(first, last int) (numbers []int) {
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// TestUnevenLeases has leases of 16, 4 and 8 positions. Their ids do not sort as
// their positions do.
func TestUnevenLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		provider := answers(func(AcquireRequest) ([]Lease, error) {
			return []Lease{leaseOf(k.now(), 1, 4), leaseOf(k.now(), 9, 2), leaseOf(k.now(), 1, 3)}, nil
		})
		c := Must(NewClient(Options{Provider: provider, Now: k.now, MaxThroughput: 28, Logger: quiet}))
		defer c.Shutdown(t.Context())
		Must(c.Next(t.Context()))
		time.Sleep(time.Millisecond)
		want := slices.Concat(run(8, 31), run(36, 39))
		if got := positions(useUp(t, c)); !slices.Equal(got, want) {
			t.Errorf("positions %v, want %v", got, want)
		}
		time.Sleep(time.Millisecond)
		var one []ID
		for range want {
			one = append(one, Must(c.Next(ended)))
		}
		if got := positions(one); !slices.Equal(got, want) {
			t.Errorf("positions one by one %v, want %v", got, want)
		}
	})
}

// TestRenewalAsksForWhatIsMissing has leases of two ages.
func TestRenewalAsksForWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		var asked []int
		provider := answers(func(req AcquireRequest) ([]Lease, error) {
			asked = append(asked, req.Throughput)
			l, m := leaseOf(k.now(), 1, 7), leaseOf(k.now(), 2, 6)
			m.Expired -= 300_000
			l.ID, m.ID = l.ID+int64(2*len(asked)), m.ID+int64(4*len(asked))
			if req.Throughput == 64 {
				return []Lease{m}, nil
			}
			return []Lease{l, m}, nil
		})
		c := Must(NewClient(Options{Provider: provider, Now: k.now, MaxThroughput: 192, Logger: quiet}))
		defer c.Shutdown(t.Context())
		Must(c.Next(t.Context()))
		time.Sleep(190 * time.Second) // more than 60 % of five minutes, less than 40 % of ten
		synctest.Wait()
		if want := []int{192, 64}; !slices.Equal(asked, want) {
			t.Errorf("asked for %d, want %d", asked, want)
		}
		if m := c.Metrics(); m.Throughput != 192 || m.ActiveLeases != 2 {
			t.Errorf("metrics %+v, want 192 IDs under 2 leases", m)
		}
	})
}

// TestMaxThroughputIsNotExceeded has a provider that grants more than was asked
// for, in whole leases.
func TestMaxThroughputIsNotExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		c, end := managed(t, newGrantor(k.now), Options{MaxThroughput: 100})
		defer end()
		Must(c.Next(t.Context()))
		time.Sleep(time.Millisecond)
		if n := len(useUp(t, c)); n != 100 {
			t.Errorf("%d IDs in a millisecond, want 100", n)
		}
	})
}

// TestTooMuchIsAskedForLessOften has a provider that refuses large requests: the
// client must not lose the lease it has over them.
func TestTooMuchIsAskedForLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.most = 1000
		c, end := managed(t, g, Options{})
		defer end()
		Must(c.Next(t.Context()))
		for range 8_000 { // an hour
			time.Sleep(450 * time.Millisecond)
			if id := useUp(t, c)[0]; id.IsFallback() {
				t.Fatalf("fallback ID at %v", id.Time())
			}
		}
		if n := len(g.requests()); n > 300 {
			t.Errorf("%d requests in an hour", n)
		}
	})
}

// TestExhaustionNeverFallsBack is about the specification's section 5.10, which
// would make fallback IDs once the IDs of a lease are used up.
func TestExhaustionNeverFallsBack(t *testing.T) {
	g := newGrantor(time.Now)
	c := Must(NewClient(Options{Provider: g, MaxThroughput: 16, Logger: quiet}))
	defer c.Shutdown(t.Context())
	start, last := time.Now(), ID(0)
	for range 400 {
		id := Must(c.Next(t.Context()))
		if id.IsFallback() || id <= last {
			t.Fatalf("ID %d (fallback %v) after %d", id, id.IsFallback(), last)
		}
		last = id
	}
	if took := time.Since(start); took < 23*time.Millisecond {
		t.Errorf("400 IDs, 16 in a millisecond, took %v", took)
	}
}

// TestSpreadSequence makes one ID a millisecond: without the option all have
// the sequence 0, with it they are in all eighths of the lower half, and a
// caller that uses a millisecond up gets at least the upper half of it, in
// order.
func TestSpreadSequence(t *testing.T) {
	for _, spread := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			c, end := managed(t, g, Options{SpreadSequence: spread, MaxThroughput: 256})
			defer end()
			Must(c.Next(t.Context()))
			var eighths [16]int
			last := ID(0)
			for range 400 {
				time.Sleep(time.Millisecond)
				id := Must(c.Next(t.Context()))
				if id <= last || id.IsFallback() {
					t.Fatalf("ID %d (fallback %v) after %d", id, id.IsFallback(), last)
				}
				last = id
				eighths[id.Sequence()/16]++
			}
			for i, n := range eighths {
				want := i == 0 && !spread || i < 8 && spread
				if (n > 0) != want {
					t.Errorf("spread %v: %d IDs have sequences from %d to %d", spread, n, 16*i, 16*i+15)
				}
			}
			time.Sleep(time.Millisecond)
			ids := useUp(t, c)
			if least := map[bool]int{false: 256, true: 129}[spread]; len(ids) < least || !slices.IsSorted(ids) || ids[0] <= last {
				t.Errorf("spread %v: %d IDs in a millisecond, want %d at least, ascending", spread, len(ids), least)
			}
		})
	}
}
