// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdownReleasesWithTheLastTimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet, ServiceID: "s"}))
		var last ID
		for range 10 {
			last = Must(c.Next(t.Context()))
			time.Sleep(7 * time.Millisecond)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next: %v, want ErrClosed", err)
		}
		if n, err := c.NextN(t.Context(), make([]ID, 3)); n != 0 || !errors.Is(err, ErrClosed) {
			t.Errorf("NextN = %d, %v; want ErrClosed", n, err)
		}
		if err := c.Ready(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Ready: %v, want ErrClosed", err)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("second Shutdown: %v", err)
		}
		c.AfterRestore()
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next after AfterRestore: %v, want ErrClosed", err)
		}
		r := g.releases()
		if len(r) != 1 || r[0].LastTs != last.Time().UnixMilli() || r[0].ServiceID != "s" {
			t.Errorf("releases %+v, want one with last timestamp %d", r, last.Time().UnixMilli())
		}
		if m := c.Metrics(); m.LeasedIDs != 10 || m.Releases != 1 || m.ActiveLeases != 0 {
			t.Errorf("metrics %+v, want 10 IDs, 1 release, no lease", m)
		}
	})
}

// TestSuccessorBeginsBehindARelease lets the next holder have the same machine
// id at once, in the same millisecond: its IDs are greater.
func TestSuccessorBeginsBehindARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		last := ID(0)
		for range 100 {
			g.next = 5
			c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
			for range 3 {
				id := Must(c.Next(t.Context()))
				if id.MachineID() != 5 || id <= last {
					t.Fatalf("ID %d of machine %d after %d", id, id.MachineID(), last)
				}
				last = id
			}
			if err := c.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestShutdownWhenTheProviderIsGone(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
			Must(c.Next(t.Context()))
			g.set(func() { g.down = errDown })
			if hang {
				g.latency = time.Hour
			}
			start := time.Now()
			err := c.Shutdown(t.Context())
			if want := errDown; !hang && !errors.Is(err, want) {
				t.Errorf("Shutdown: %v, want %v", err, want)
			}
			if took := time.Since(start); hang && (!errors.Is(err, context.DeadlineExceeded) || took != releaseTimeout) {
				t.Errorf("Shutdown: %v after %v", err, took)
			}
			if m := c.Metrics(); m.ReleaseFailures != 1 {
				t.Errorf("metrics %+v, want one failed release", m)
			}
		})
	}
}

func TestShutdownEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.hang = true
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
		got := make(chan error)
		go func() {
			_, err := c.Next(t.Context())
			got <- err
		}()
		time.Sleep(time.Second)
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("Next: %v, want ErrClosed", err)
		}
	})
	c := Must(NewClient(Options{}))
	if err := c.Shutdown(ended); err != nil {
		t.Errorf("Shutdown in standalone mode: %v", err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next in standalone mode: %v, want ErrClosed", err)
	}
}

// TestLostReplyIsAskedForAgain: with the same key, so that no lease is lost.
func TestLostReplyIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.lose = 3
		c, end := managed(t, g, Options{DisableFallback: true})
		defer end()
		var id ID
		for id == 0 {
			id, _ = c.Next(ended)
			time.Sleep(100 * time.Millisecond)
		}
		req := g.requests()
		if len(req) != 4 || len(g.byKey) != 1 || id.MachineID() != 0 {
			t.Errorf("%d requests with %d keys, ID of machine %d; want 4 with one key, machine 0", len(req), len(g.byKey), id.MachineID())
		}
	})
}

func TestCallsOfTheProviderHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.hang = true
		c, end := managed(t, g, Options{})
		defer end()
		start := time.Now()
		if id := Must(c.Next(t.Context())); !id.IsFallback() || time.Since(start) != acquireTimeout {
			t.Errorf("ID (fallback %v) after %v, want a fallback ID after %v", id.IsFallback(), time.Since(start), acquireTimeout)
		}
	})
}

// TestImpatientCallerFallsBack: a caller whose context ends while it waits for
// the first lease gets a fallback ID; others go on waiting for the lease.
func TestImpatientCallerFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = 3 * time.Second
		c, end := managed(t, g, Options{})
		defer end()
		patient := make(chan ID)
		go func() { patient <- Must(c.Next(t.Context())) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		id, err := c.Next(ctx)
		if err != nil || !id.IsFallback() {
			t.Errorf("Next = %d (fallback %v), %v; want a fallback ID", id, id.IsFallback(), err)
		}
		if later := <-patient; later.IsFallback() || later <= id {
			t.Errorf("the patient caller got %d (fallback %v), want a leased ID above %d", later, later.IsFallback(), id)
		}
		strict, end := managed(t, g, Options{DisableFallback: true})
		defer end()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var e *LeaseAcquisitionError
		if id, err := strict.Next(ctx); id != 0 || !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next of a strict client = %d, %v; want a LeaseAcquisitionError and DeadlineExceeded", id, err)
		}
		if _, err := strict.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Next with an ended context: %v, want its cause", err)
		}
	})
}

func TestNewIDOfAManagedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = 100 * time.Millisecond
		c, end := managed(t, g, Options{})
		defer end()
		if id := newDefaults(c).newID(); id == 0 || id.IsFallback() {
			t.Errorf("newID = %d (fallback %v), want a leased ID", id, id.IsFallback())
		}
		slow := newGrantor(k.now)
		slow.hang = true
		c2, end2 := managed(t, slow, Options{})
		defer end2()
		if id := newDefaults(c2).newID(); !id.IsFallback() {
			t.Errorf("newID = %d of a provider that hangs, want a fallback ID", id)
		}
	})
}

// TestLaggingClient has a clock behind the provider's, so that leases begin in
// its future.
func TestLaggingClient(t *testing.T) {
	for _, test := range []struct {
		behind time.Duration
		strict bool
		wait   time.Duration
		want   mode
	}{
		{behind: 3 * time.Millisecond, strict: true, wait: 3 * time.Millisecond, want: leased},
		{behind: 4 * time.Second, wait: 4 * time.Second, want: leased},
		{behind: time.Minute, want: random},
		{behind: time.Minute, strict: true, want: waiting},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			k.step(-test.behind)
			g := newGrantor(right.now)
			c, end := managed(t, g, Options{DisableFallback: test.strict, MaxBackward: new(time.Duration(0))})
			defer end()
			c.clock.now = k.now
			c.clock.offset.Add(-test.behind.Milliseconds())
			start := time.Now()
			id, err := c.Next(t.Context())
			if took := time.Since(start); took != test.wait {
				t.Errorf("%v behind: Next took %v, want %v", test.behind, took, test.wait)
			}
			var e *LeaseAcquisitionError
			switch test.want {
			case waiting:
				if !errors.As(err, &e) || !strings.Contains(err.Error(), "behind the provider") {
					t.Errorf("Next: %v, want a LeaseAcquisitionError that names the clock", err)
				}
			default:
				if err != nil || id.IsFallback() != (test.want == random) {
					t.Errorf("Next = fallback %v, %v", id.IsFallback(), err)
				}
			}
			// In the long run it is leased all the time, its clock notwithstanding.
			last := id
			for range 400 {
				time.Sleep(6 * time.Second)
				id, err := c.Next(t.Context())
				if early := time.Since(start) < test.behind+time.Second; !early && (err != nil || id.IsFallback() || id <= last) {
					t.Fatalf("%v behind, after %v: Next = %d (fallback %v), %v after %d", test.behind, time.Since(start), id, id.IsFallback(), err, last)
				}
				last = max(id, last)
			}
		})
	}
}

// TestLeadingClient has a clock ahead of the provider's. As long as leases last
// longer than that, IDs are leased.
func TestLeadingClient(t *testing.T) {
	for _, test := range []struct {
		ahead time.Duration
		want  mode
		most  int // requests in an hour
	}{
		{ahead: time.Minute, want: leased, most: 20},
		{ahead: 9 * time.Minute, want: leased, most: 400},
		{ahead: 11 * time.Minute, want: continued, most: 130},
		{ahead: 21 * time.Minute, want: random, most: 130},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			k.step(test.ahead)
			g := newGrantor(right.now)
			c, end := managed(t, g, Options{Now: k.now})
			defer end()
			last := ID(0)
			for range 600 { // an hour
				id := Must(c.Next(t.Context()))
				got := leased
				switch pos := uint64(id) & (1<<21 - 1); {
				case id.IsFallback() && pos >= DefaultLayout().FallbackPositions():
					got = random
				case id.IsFallback():
					got = continued
				}
				if got != test.want || id <= last {
					t.Fatalf("%v ahead: ID %d is %v after %d, want %v", test.ahead, id, got, last, test.want)
				}
				last = id
				time.Sleep(6 * time.Second)
			}
			if n := len(g.requests()); n > test.most {
				t.Errorf("%v ahead: %d requests in an hour, want at most %d", test.ahead, n, test.most)
			}
		})
	}
}

// TestForeignEpoch: a lease of another epoch is refused, given back and told of.
func TestForeignEpoch(t *testing.T) {
	for _, change := range []func(*Lease){
		func(l *Lease) { l.CustomEpoch -= 1000 },
		func(l *Lease) { l.BitReserve, l.BitTs = 2, 40 },
		func(l *Lease) { l.BitReserve, l.BitID = 2, 13 },
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
			var mismatch *EpochMismatchError
			var e *LeaseAcquisitionError
			if id != 0 || !errors.As(err, &mismatch) || !errors.As(err, &e) || mismatch.Want != DefaultLayout() {
				t.Errorf("Next = %d, %v; want an EpochMismatchError in a LeaseAcquisitionError", id, err)
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

// TestEpochIsDecidedOnce: by the options, else by the first lease, else by the
// default; what IDs were made with stays.
func TestEpochIsDecidedOnce(t *testing.T) {
	custom := Layout{EpochMs: DefaultEpochMs - 1000_000, BitReserve: 2, BitTs: 40, BitID: 14, BitSeq: 8}
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
	t.Run("by fallback IDs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.layout, g.down = custom, errDown
			c, end := managed(t, g, Options{})
			defer end()
			Must(c.Next(t.Context()))
			g.set(func() { g.down = nil })
			time.Sleep(time.Minute)
			if id := Must(c.Next(ended)); !id.IsFallback() || c.Layout() != DefaultLayout() {
				t.Errorf("ID %d was made in layout %+v after others of the default", id, c.Layout())
			}
		})
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
		c := Must(NewClient(Options{Provider: provider, Now: k.now, MaxThroughputPerMs: 36, Logger: quiet}))
		defer c.Shutdown(t.Context())
		Must(c.Next(t.Context()))
		time.Sleep(time.Millisecond)
		if got := positions(useUp(t, c)); !slices.Equal(got, run(16, 31)) {
			t.Errorf("positions %v, want 16 to 31 once", got)
		}
	})
}

func TestOptionsValidate(t *testing.T) {
	err := Options{DisableFallback: true, MaxThroughputPerMs: -1, AcquireRetryInterval: time.Hour, AcquireRetryMaxInterval: time.Minute}.Validate()
	var none *NoProviderError
	if !errors.As(err, &none) {
		t.Errorf("Validate: %v, want a NoProviderError", err)
	}
	for _, want := range []string{"MaxThroughputPerMs is -1", "AcquireRetryMaxInterval is 1m0s", "no provider"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, want it to say %q", err, want)
		}
	}
	if _, err := NewClient(Options{DisableFallback: true}); !errors.As(err, &none) {
		t.Errorf("NewClient: %v, want a NoProviderError", err)
	}
	o := Options{}.withDefaults()
	if *o.MaxBackward != 5*time.Second || o.AcquireRetryInterval != time.Second || o.AcquireRetryMaxInterval != time.Minute ||
		o.Layout.EpochMs != time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() || o.Layout.BitTs != 41 || o.MaxThroughputPerMs != 4096 {
		t.Errorf("defaults %+v are not those of the specification", o)
	}
}

func TestLogOfFallbackAndClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		k := newSteppedClock()
		g := newGrantor(k.now)
		c, end := managed(t, g, Options{ServiceID: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		Must(c.Next(t.Context()))
		g.set(func() { g.down = errDown })
		for range 25 {
			time.Sleep(time.Minute)
			Must(c.Next(t.Context()))
		}
		g.set(func() { g.down = nil })
		time.Sleep(2 * time.Minute)
		Must(c.Next(t.Context()))
		k.step(-time.Second)
		Must(c.Next(t.Context()))
		end()
		var events []string
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "service=orders") {
				t.Errorf("line %q does not name the service", line)
			}
			if strings.Contains(line, "acquiring a lease failed") {
				continue
			}
			_, rest, _ := strings.Cut(line, `msg="idgen: `)
			text, _, _ := strings.Cut(rest, `"`)
			events = append(events, text)
		}
		want := []string{"no valid lease, making fallback IDs", "no valid lease, making fallback IDs", "fallback ended, IDs are leased again", "the clock was set back"}
		if !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
	})
}

// callingBack is a logger that asks for an ID for each line, as one does that
// numbers its lines.
type callingBack struct {
	slog.Handler
	next func()
}

func (h callingBack) Enabled(context.Context, slog.Level) bool { return true }
func (h callingBack) Handle(context.Context, slog.Record) error {
	h.next()
	return nil
}

func TestLoggerMayAskForIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		var c *Client
		var lines atomic.Int64
		c, end := managed(t, g, Options{Logger: slog.New(callingBack{slog.DiscardHandler, func() { lines.Add(1); _, _ = c.Next(ended) }})})
		defer end()
		Must(c.Next(t.Context()))
		g.set(func() { g.down = errDown })
		for range 25 {
			time.Sleep(time.Minute)
			Must(c.Next(t.Context()))
		}
		if lines.Load() == 0 {
			t.Error("nothing was logged")
		}
	})
}

// watcher is an Observer.
type watcher struct {
	read      func() Metrics
	forgotten int
}

func (w *watcher) Observe(read func() Metrics) func() {
	w.read = read
	return func() { w.forgotten++ }
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		w := &watcher{}
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet, Observer: w, ServiceID: "orders"}))
		made := map[mode]int64{}
		last := Metrics{}
		take := func(m mode, n int) {
			for range n {
				Must(c.NextN(t.Context(), make([]ID, 10)))
				made[m] += 10
				time.Sleep(time.Millisecond)
			}
			got := w.read()
			if got.ServiceID != "orders" || got.LeasedIDs != made[leased] || got.CachedFallbackIDs != made[continued] || got.RandomFallbackIDs != made[random] ||
				got.IDs() != made[leased]+made[continued]+made[random] {
				t.Errorf("metrics %+v, want %v", got, made)
			}
			last = got
		}
		take(leased, 100)
		g.set(func() { g.down = errDown })
		time.Sleep(11 * time.Minute)
		take(continued, 50)
		if last.ActiveLeases != 0 || last.AcquireFailures == 0 {
			t.Errorf("metrics %+v in an outage", last)
		}
		time.Sleep(11 * time.Minute)
		take(random, 20)
		g.set(func() { g.down = nil })
		time.Sleep(2 * time.Minute)
		take(leased, 30)
		k.step(-time.Second)
		take(leased, 30)
		if last.ClockBackward != 1 || last.ActiveLeases != 1 || last.ThroughputPerMs != 256 || last.Acquires != 2 {
			t.Errorf("metrics %+v", last)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := w.read(); got.LeasedIDs != made[leased] || w.forgotten != 1 {
			t.Errorf("after Shutdown: metrics %+v, forgotten %d times", got, w.forgotten)
		}
	})
}
