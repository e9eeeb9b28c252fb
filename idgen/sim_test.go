// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// The simulator runs many clients against one service, in virtual time, and
// looks for an ID that was made twice. Everything goes wrong that can: clocks
// are off, step, jump by years and stand still; the monotonic clock stops with
// the machine; readers of the clock are held up for longer than a lease lasts;
// requests and replies are lost, late or repeated; the service cannot be reached
// for several leases, or forgets all that it granted; clients crash, shut down,
// are cloned and are restored from snapshots. Leases are few, short, and of
// different sizes.
//
// Random fallback IDs are counted apart: they may collide.

// maker is a generator in the simulation: a Client, or the specification's
// literal one.
type maker interface {
	NextN(ctx context.Context, ids []idgen.ID) (int, error)
	Shutdown(ctx context.Context) error
}

// simulation is what a run is of.
type simulation struct {
	seed     uint64
	layout   idgen.Layout
	nodes    int
	most     int // MaxThroughput of a client, at most
	duration time.Duration
	literal  bool // the specification's own rules, for comparison
	calm     bool // no copies of processes and no loss of the store, which no rule of the literal client is about
}

// simLease is how long leases last.
const simLease = 10 * time.Second

// world is a run.
type world struct {
	simulation
	t     *testing.T
	begin time.Time
	until time.Duration // end of the nodes' lives
	wg    sync.WaitGroup

	mu       sync.Mutex
	rng      *rand.Rand // of the world's own events
	service  idgen.LeaseProvider
	made     [][]idgen.ID // by each maker
	makers   []string
	metrics  idgen.Metrics
	storeOff atomic.Int64 // of the store's clock, nanoseconds
	outage   atomic.Int64 // until when the service cannot be reached, since begin
}

// run returns the IDs that were made, and what the clients counted.
func (s simulation) run(t *testing.T) (*world, result) {
	w := &world{simulation: s, t: t, until: s.duration, rng: rand.New(rand.NewPCG(s.seed, 0))}
	synctest.Test(t, func(t *testing.T) {
		w.begin = time.Now()
		w.open(true)
		for i := range s.nodes {
			n := w.newNode(uint64(i + 1))
			w.wg.Go(n.live)
		}
		w.wg.Go(w.disturb)
		w.wg.Wait()
	})
	return w, w.result()
}

// right is the right time: the bubble's clock, which begins in the year 2000,
// moved to a year after the epoch.
func (w *world) right() time.Time {
	return idgen.DefaultLayout().First().AddDate(1, 0, 0).Add(time.Since(w.begin))
}

// open makes a store, and servers with leases of different least sizes on it.
func (w *world) open(fresh bool) {
	store := memory.NewStore(func() time.Time { return w.right().Add(time.Duration(w.storeOff.Load())) })
	var servers fleet
	for _, more := range []int{0, 1, 2} {
		layout := w.layout
		layout.MachineBits, layout.SequenceBits = layout.MachineBits-more, layout.SequenceBits+more
		server, err := lease.NewServer(store, lease.Options{Default: lease.ServiceConfig{Layout: layout, Duration: simLease}, Fresh: fresh, Quarantine: 2*simLease + 10*time.Second})
		if err != nil {
			w.t.Fatal(err)
		}
		servers = append(servers, server)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.service = servers
	if w.literal {
		w.service = newLiteralServer(w.layout, simLease)
	}
}

// fleet is several servers of one store, of which any answers.
type fleet []*lease.Server

func (f fleet) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	return f[req.Throughput%len(f)].Acquire(ctx, req)
}

func (f fleet) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	return f[int(req.Timestamp)%len(f)].Release(ctx, req)
}

// disturb makes the world's own events happen.
func (w *world) disturb() {
	for time.Since(w.begin) < w.until {
		time.Sleep(between(w.rng, time.Second, 40*time.Second))
		switch p := w.rng.IntN(20); {
		case p < 4: // a hiccup
			w.outage.Store(int64(time.Since(w.begin) + between(w.rng, time.Second, simLease)))
		case p < 6:
			w.outage.Store(int64(time.Since(w.begin) + between(w.rng, simLease, 4*simLease)))
		case p < 15:
			w.storeOff.Store(int64(between(w.rng, -2*time.Second, 2*time.Second)))
		case p == 15 && !w.calm:
			w.open(false)
		}
	}
}

// between draws a time.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// result is what came of a run.
type result struct {
	leased, continued, random int
	duplicates                int // among the IDs that are to be unique
	example                   idgen.ID
	disorder                  int // IDs that are not greater than the maker's last
}

func (w *world) result() (r result) {
	var all []idgen.ID
	for _, ids := range w.made {
		for i, id := range ids {
			if i > 0 && id <= ids[i-1] {
				r.disorder++
			}
			pos := uint64(id) & (1<<(w.layout.MachineBits+w.layout.SequenceBits) - 1)
			half := uint64(1) << (w.layout.MachineBits + w.layout.SequenceBits - 1)
			switch {
			case pos < half:
				r.leased++
			case pos < half+w.layout.FallbackPositions():
				r.continued++
			default:
				r.random++
				continue
			}
			all = append(all, id)
		}
	}
	slices.Sort(all)
	for i := range all[1:] {
		if all[i] == all[i+1] {
			r.duplicates++
			r.example = all[i]
		}
	}
	return r
}

// makersOf returns the processes that made an ID.
func (w *world) makersOf(id idgen.ID) (makers []string) {
	for i, ids := range w.made {
		if slices.Contains(ids, id) {
			makers = append(makers, w.makers[i])
		}
	}
	return makers
}

// keep takes over what a maker has made.
func (w *world) keep(who string, ids []idgen.ID, m maker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made, w.makers = append(w.made, ids), append(w.makers, who)
	if c, ok := m.(*idgen.Client); ok {
		counted := c.Metrics()
		w.metrics.Acquires += counted.Acquires
		w.metrics.AcquireFailures += counted.AcquireFailures
		w.metrics.Releases += counted.Releases
		w.metrics.ClockBackward += counted.ClockBackward
		w.metrics.ClockForward += counted.ClockForward
		w.metrics.LeasedIDs += counted.LeasedIDs
		w.metrics.CachedFallbackIDs += counted.CachedFallbackIDs
		w.metrics.RandomFallbackIDs += counted.RandomFallbackIDs
	}
}

var discard = slog.New(slog.DiscardHandler)

// simLayouts are small, so that machine ids are granted again and again.
var simLayouts = []struct {
	layout idgen.Layout
	most   int
}{
	{idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 12, TimestampBits: 41, MachineBits: 7, SequenceBits: 4}, 32},
	{idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 8, TimestampBits: 41, MachineBits: 8, SequenceBits: 7}, 1024},
}

// TestNoIDTwice runs the simulation with the rules of this module, and, under
// the same seeds, with the specification's literal ones.
func TestNoIDTwice(t *testing.T) {
	first := seed.Of(t)
	runs, length := 6, 10*time.Minute
	if testing.Short() {
		runs, length = 2, 3*time.Minute
	}
	var all result
	for i := range runs {
		s := simulation{seed: first + uint64(i), nodes: 12, duration: length}
		s.layout, s.most = simLayouts[i%2].layout, simLayouts[i%2].most
		t.Run(fmt.Sprint("seed ", s.seed), func(t *testing.T) {
			r := s.check(t)
			all.leased, all.continued, all.random = all.leased+r.leased, all.continued+r.continued, all.random+r.random
		})
	}
	all.checkCoverage(t)
}

func (s simulation) check(t *testing.T) result {
	w, r := s.run(t)
	t.Logf("%+v of %d makers; %+v", r, len(w.made), w.metrics)
	if r.duplicates > 0 {
		t.Errorf("%d IDs were made twice, %d of %v by %q", r.duplicates, r.example, w.layout.Time(r.example), w.makersOf(r.example))
	}
	if r.disorder > 0 {
		t.Errorf("%d IDs are not greater than the one before", r.disorder)
	}
	if m := w.metrics; m.LeasedIDs != int64(r.leased) || m.CachedFallbackIDs != int64(r.continued) || m.RandomFallbackIDs != int64(r.random) {
		t.Errorf("the clients counted %+v", m)
	}
	return r
}

// checkCoverage checks that there were enough IDs of each kind; a short run may
// lack one.
func (r result) checkCoverage(t *testing.T) {
	if 4*r.leased < r.random || r.continued == 0 || r.random == 0 {
		t.Errorf("%d leased, %d continued, %d random IDs: the simulation misses something", r.leased, r.continued, r.random)
	}
}

// TestLiteralRulesRepeatIDs shows that the simulation can fail: the
// specification's own client and server, taken literally, make IDs twice, even
// without copies of processes and loss of the store.
func TestLiteralRulesRepeatIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a long simulation; TestNoIDTwice has a short one")
	}
	s := simulation{seed: seed.Of(t), nodes: 14, duration: 30 * time.Minute, literal: true, calm: true}
	s.layout = idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 13, TimestampBits: 41, MachineBits: 6, SequenceBits: 4} // tight
	s.most = 32
	w, literal := s.run(t)
	t.Logf("literal: %+v of %d makers", literal, len(w.made))
	if literal.duplicates < 100 {
		t.Errorf("the specification's literal rules made only %d IDs twice: the simulation is too kind", literal.duplicates)
	}
	s.literal = false
	s.check(t).checkCoverage(t)
}
