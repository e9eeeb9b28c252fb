// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
)

func provider(t testing.TB, db kv.Database, o leasefdb.Options) *leasefdb.Provider {
	t.Helper()
	return must[*leasefdb.Provider](t)(leasefdb.New(db, o))
}

func acquire(t testing.TB, p idgen.LeaseProvider, req idgen.AcquireRequest) idgen.Lease {
	t.Helper()
	leases := must[[]idgen.Lease](t)(p.Acquire(ctx, req))
	if len(leases) != 1 {
		t.Fatalf("%d leases, want 1", len(leases))
	}
	check(t, leases[0].Validate())
	return leases[0]
}

// TestAcquireContention makes 10,000 acquires from 64 goroutines with a provider
// each, some of which release, and counts how often a transaction ran again:
// they meet only when they draw the same block, or at the frontier.
func TestAcquireContention(t *testing.T) {
	const goroutines = 64
	total := 10_000
	if testing.Short() {
		total = 2_000
	}
	db := faults.NewCounter(enginetest.Open(t))
	acquire(t, provider(t, db, leasefdb.Options{}), idgen.AcquireRequest{}) // creates the directory
	before := db.Counts()
	seed := seed.Of(t)
	var group sync.WaitGroup
	var all sync.Mutex
	var rectangles []idgen.Lease
	releases := 0
	for i := range goroutines {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			p := provider(t, db, leasefdb.Options{})
			for n := range total / goroutines {
				leases, err := p.Acquire(ctx, idgen.AcquireRequest{Throughput: 256, RequestKey: fmt.Sprint(i, "/", n)})
				if err != nil {
					t.Error(err)
					return
				}
				release := rng.IntN(2) == 0
				if l := leases[0]; release {
					if err := p.Release(ctx, l.Release("", l.Created, time.Now())); err != nil {
						t.Error(err)
						return
					}
					leases[0].Expired = l.Created + 1 // what was used of it
				}
				all.Lock()
				rectangles = append(rectangles, leases...)
				if release {
					releases++
				}
				all.Unlock()
			}
		})
	}
	group.Wait()
	counts := db.Counts().Sub(before)
	per := float64(counts.Retries) / float64(len(rectangles))
	t.Logf("%d acquires and %d releases: %d transactions ran again, %.3f for each acquire; %v", len(rectangles), releases, counts.Retries, per, counts)
	if per > 0.2 {
		t.Errorf("%.3f transactions ran again for each acquire", per)
	}
	wantDisjoint(t, rectangles)
}

// wantDisjoint checks that no two leases share a point.
func wantDisjoint(t testing.TB, leases []idgen.Lease) {
	t.Helper()
	at := map[uint64][]idgen.Lease{} // by the number of the smallest blocks that they cover
	for _, l := range leases {
		for base := l.Base() >> 8; base <= (l.Base()+uint64(l.Throughput())-1)>>8; base++ {
			for _, other := range at[base] {
				if l.Created < other.Expired && other.Created < l.Expired && l.Base() < other.Base()+uint64(other.Throughput()) && other.Base() < l.Base()+uint64(l.Throughput()) {
					t.Fatalf("two leases overlap:\n%+v\n%+v", l, other)
				}
			}
			at[base] = append(at[base], l)
		}
	}
}

// TestAcquireReadsAreBounded checks that an acquire costs as much when all but
// a few machine ids are taken as when none is.
func TestAcquireReadsAreBounded(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	bitID := 12
	if testing.Short() {
		bitID = 10
	}
	all := 1 << (bitID - 1)
	p := provider(t, db, leasefdb.Options{Lease: lease.Options{Default: lease.ServiceConfig{Layout: idgen.Layout{
		CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: bitID, SequenceBits: 22 - bitID,
	}}}})
	var most faults.Counts
	for n := range all {
		counts, err := db.Measure(func() error {
			_, err := p.Acquire(ctx, idgen.AcquireRequest{RequestKey: fmt.Sprint(n)})
			return err
		})
		if err != nil {
			t.Fatalf("acquire %d: %v", n, err)
		}
		if n < 2 {
			continue // the directory was created, and opened
		}
		if counts.Begins != 1 || counts.Commits != 1 {
			t.Fatalf("acquire %d took %d transactions", n, counts.Commits)
		}
		most.Rounds, most.Gets, most.Batches = max(most.Rounds, counts.Rounds), max(most.Gets, counts.Gets), max(most.Batches, counts.Batches)
	}
	t.Logf("the dearest of %d acquires: %v", all-2, most)
	if most.Rounds > 6 || most.Gets > 4 || most.Batches > 3 {
		t.Errorf("the dearest of %d acquires cost %v", all-2, most)
	}
	_, err := p.Acquire(ctx, idgen.AcquireRequest{})
	wantError(t, err, lease.ErrExhausted)
}

// TestProvidersOfOneDatabase checks that the leases of several providers, with
// clocks far apart, are disjoint, on the hostile engine too; and so after all of
// them are opened anew.
func TestProvidersOfOneDatabase(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		seed := seed.Of(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		var leases []idgen.Lease
		small := lease.Options{Default: lease.ServiceConfig{Layout: idgen.Layout{
			CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 6, SequenceBits: 16,
		}, Duration: 2 * time.Second}}
		for range 3 {
			var providers []*leasefdb.Provider
			for range 3 {
				ahead := time.Duration(rng.IntN(20_000)-10_000) * time.Millisecond
				providers = append(providers, provider(t, db, leasefdb.Options{
					Now: func() time.Time { return time.Now().Add(ahead) }, Lease: small,
				}))
			}
			for range 20 {
				got, err := providers[rng.IntN(3)].Acquire(ctx, idgen.AcquireRequest{RequestKey: fmt.Sprint(rng.Uint64())})
				if err != nil && !errors.Is(err, lease.ErrExhausted) {
					t.Fatal(err)
				}
				leases = append(leases, got...)
			}
		}
		t.Logf("%d leases", len(leases))
		wantDisjoint(t, leases)
	})
}

// TestLostReply checks that an acquire with a lost acknowledgement takes no
// second machine id.
func TestLostReply(t *testing.T) {
	db := enginetest.Open(t)
	p := provider(t, faults.Hostile(db, faults.Options{Seed: seed.Of(t)}), leasefdb.Options{})
	const n = 40
	for i := range n {
		acquire(t, p, idgen.AcquireRequest{RequestKey: fmt.Sprint(i)})
	}
	page := must[lease.Page](t)(provider(t, db, leasefdb.Options{}).List(ctx, "", lease.ListOptions{}))
	if len(page.Leases) != n {
		t.Errorf("%d acquires took %d machine ids", n, len(page.Leases))
	}
}

// idAt returns the ID of a position in a millisecond.
func idAt(t testing.TB, l idgen.Lease, ms int64, sequence int) idgen.ID {
	t.Helper()
	return must[idgen.ID](t)(l.Layout().Compose(time.UnixMilli(ms), int(l.ID), sequence))
}

// TestLeaseOf checks that IDs are told by their position and time.
func TestLeaseOf(t *testing.T) {
	p := provider(t, enginetest.Open(t), leasefdb.Options{})
	if _, ok := p.LeaseOf("", 1); ok {
		t.Error("a lease before any was acquired")
	}
	a := acquire(t, p, idgen.AcquireRequest{Throughput: 1000})
	b := acquire(t, p, idgen.AcquireRequest{ServiceID: "other"})
	top := a.Throughput() - 1
	for name, c := range map[string]struct {
		service string
		id      idgen.ID
		want    *idgen.Lease
	}{
		"first":          {"", idAt(t, a, a.Created, 0), &a},
		"last":           {"default", idAt(t, a, a.Expired-1, top), &a},
		"too early":      {"", idAt(t, a, a.Created-1, 0), nil},
		"too late":       {"", idAt(t, a, a.Expired, 0), nil},
		"fallback":       {"", idAt(t, a, a.Created, 0) | 1<<21, nil},
		"beside":         {"", idAt(t, a, a.Created, top) + 1, nil},
		"other service":  {"other", idAt(t, b, b.Created, 0), &b},
		"wrong service":  {"third", idAt(t, b, b.Created, 0), nil},
		"no ID, or zero": {"", 0, nil},
	} {
		got, ok := p.LeaseOf(c.service, c.id)
		if ok != (c.want != nil) || ok && got != *c.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
		if _, fenced := p.FenceOf(c.service, c.id); fenced != ok {
			t.Errorf("%s: fenced %v", name, fenced)
		}
	}
}

// overtakenDatabase runs a function within its first transaction, after that has got its
// read version, and gives up that transaction.
type overtakenDatabase struct {
	kv.Database
	within func()
}

var errGivenUp = errors.New("given up")

func (d *overtakenDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	within := d.within
	if d.within = nil; within == nil {
		return d.Database.Transact(ctx, fn)
	}
	return d.Database.Transact(ctx, func(tx kv.Transaction) error {
		if _, err := tx.GetReadVersion().Get(ctx); err != nil {
			return err
		}
		within()
		if err := fn(tx); err != nil {
			return err
		}
		return errGivenUp
	})
}

// A transaction that does not commit makes no directory: the fence of an ID is in the one
// that another has made.
func TestFenceIsInTheDirectoryThatThereIs(t *testing.T) {
	db := &overtakenDatabase{Database: enginetest.Open(t)}
	p := provider(t, db, leasefdb.Options{})
	var l idgen.Lease
	db.within = func() { l = acquire(t, p, idgen.AcquireRequest{}) }
	_, err := p.Acquire(ctx, idgen.AcquireRequest{})
	wantError(t, err, errGivenUp)
	f, ok := p.FenceOf("", idAt(t, l, l.Created, 0))
	if !ok {
		t.Fatal("there is no fence")
	}
	check(t, f.Check(ctx, begin(t, db)))
}

// leaseEnd is what the end of a lease does to the fence of an ID.
type leaseEnd int

const (
	holds     leaseEnd = iota
	conflicts          // with a transaction under way, and holds when that runs again
	lost
)

// TestFenceOfMachine checks when the fence of an ID holds: until its positions
// are granted again, whether the lease has ended or not.
func TestFenceOfMachine(t *testing.T) {
	// A space of four machines, so that the fifth lease is the first's again.
	four := leasefdb.Options{Lease: lease.Options{Default: lease.ServiceConfig{
		Layout:   idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 18, TimestampBits: 41, MachineBits: 3, SequenceBits: 2},
		Duration: 10 * time.Second,
	}}}
	endings := map[string]struct {
		end  func(t *testing.T, db kv.Database, p *leasefdb.Provider, l idgen.Lease)
		want leaseEnd
	}{
		"valid":   {func(*testing.T, kv.Database, *leasefdb.Provider, idgen.Lease) {}, holds},
		"expired": {func(*testing.T, kv.Database, *leasefdb.Provider, idgen.Lease) { time.Sleep(time.Minute) }, holds},
		"released": {func(t *testing.T, _ kv.Database, p *leasefdb.Provider, l idgen.Lease) {
			check(t, p.Release(ctx, l.Release("", l.Created, time.Now())))
		}, conflicts},
		"granted again": {func(t *testing.T, db kv.Database, _ *leasefdb.Provider, l idgen.Lease) {
			time.Sleep(time.Minute)
			next := provider(t, db, four)
			for range 4 {
				acquire(t, next, idgen.AcquireRequest{})
			}
		}, lost},
		"merged": {func(t *testing.T, db kv.Database, _ *leasefdb.Provider, l idgen.Lease) {
			time.Sleep(time.Minute)
			next := provider(t, db, four)
			for range 2 {
				acquire(t, next, idgen.AcquireRequest{Throughput: 8})
			}
		}, lost},
		"removed": {func(t *testing.T, db kv.Database, _ *leasefdb.Provider, l idgen.Lease) {
			check(t, directory.Root().Remove(ctx, db, []string{"kazahana", "leases"}))
		}, lost},
	}
	for name, c := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour)))
				db := enginetest.InProcess(t)
				p := provider(t, db, four)
				l := acquire(t, p, idgen.AcquireRequest{})
				f, ok := p.FenceOf("", idAt(t, l, l.Created, 1))
				if !ok {
					t.Fatal("there is no fence")
				}
				tx := begin(t, db)
				check(t, f.Check(ctx, tx))
				tx.Set([]byte("\x01"), nil)
				c.end(t, db, p, l)
				if time.Since(time.UnixMilli(l.Created)) < 5*time.Second { // not too old
					err := tx.Commit(ctx)
					if kv.IsConflict(err) != (c.want != holds) || err != nil && c.want == holds {
						t.Errorf("the commit of a transaction begun before: %v", err)
					}
				}
				err := f.Check(ctx, begin(t, db))
				if errors.Is(err, leasefdb.ErrLeaseLost) != (c.want == lost) || err != nil && c.want != lost {
					t.Errorf("the check says %v", err)
				}
			})
		})
	}
}

// TestFaultyOptions checks that faults of options are errors.
func TestFaultyOptions(t *testing.T) {
	if _, err := leasefdb.New(nil, leasefdb.Options{}); err == nil {
		t.Error("a provider of no database")
	}
	if _, err := leasefdb.New(enginetest.Open(t), leasefdb.Options{Lease: lease.Options{MaxLeases: -1}}); err == nil {
		t.Error("-1 leases")
	}
}

// BenchmarkAcquire acquires 10,000 leases from 64 goroutines, with a provider
// each, and reports how often transactions ran again.
func BenchmarkAcquire(b *testing.B) {
	many := leasefdb.Options{Lease: lease.Options{Default: lease.ServiceConfig{Layout: idgen.Layout{
		CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 18, SequenceBits: 4,
	}}}}
	for name, open := range map[string]func() (kv.Database, error){
		"memory": func() (kv.Database, error) { return embedded.OpenMemory() },
		"disk":   func() (kv.Database, error) { return embedded.Open(b.TempDir()) },
	} {
		b.Run(name, func(b *testing.B) {
			engine := must[kv.Database](b)(open())
			defer engine.Close()
			db := faults.NewCounter(engine)
			const acquires = 10_000
			for n := range b.N {
				request := idgen.AcquireRequest{ServiceID: fmt.Sprint(n)}
				var group sync.WaitGroup
				var next atomic.Int64
				for range 64 {
					p := provider(b, db, many)
					group.Go(func() {
						for next.Add(1) <= acquires {
							if _, err := p.Acquire(ctx, request); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
			}
			b.ReportMetric(float64(db.Counts().Retries)/float64(b.N*acquires), "retries/acquire")
			b.ReportMetric(float64(b.N*acquires)/b.Elapsed().Seconds(), "acquires/s")
		})
	}
}
