// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gatedClock stands still. Once it is armed, it keeps its readers until there
// are as many as it was made for, three times: the first time they read the
// millisecond before.
type gatedClock struct {
	at      time.Time
	readers int64
	arrived atomic.Int64
	gates   [3]chan struct{}
	armed   atomic.Bool
}

func newGatedClock(at time.Time, readers int64) *gatedClock {
	return &gatedClock{at: at, readers: readers, gates: [3]chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}}
}

func (k *gatedClock) now() time.Time {
	if !k.armed.Load() {
		return k.at
	}
	n := k.arrived.Add(1) - 1
	gate := n / k.readers
	if gate >= int64(len(k.gates)) {
		return k.at
	}
	if n%k.readers == k.readers-1 {
		close(k.gates[gate])
	}
	<-k.gates[gate]
	if gate == 0 {
		return k.at.Add(-time.Millisecond)
	}
	return k.at
}

// TestManyBatchesStayInTheirMillisecond has so many goroutines ask for a batch
// between their look at the cursor and their step that the batches total more
// than the number in the cursor's word holds. They overflowed into the
// timestamp: IDs of times to come, when the lease had ended.
func TestManyBatchesStayInTheirMillisecond(t *testing.T) {
	const goroutines = 1100 // times 4096 is more than 2^22
	layout := Layout{CustomEpoch: DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 42, MachineBits: 13, SequenceBits: 8}
	k := newGatedClock(epoch.AddDate(1, 0, 0), goroutines)
	l := leaseOf(k.at, 3, 8)
	l.TimestampBits, l.MachineBits = layout.TimestampBits, layout.MachineBits
	provider := answers(func(AcquireRequest) ([]Lease, error) { return []Lease{l}, nil })
	c := Must(NewClient(Options{Provider: provider, Now: k.now, MaxThroughput: 256, Logger: quiet}))
	defer c.Shutdown(t.Context())
	all := []ID{Must(c.Next(t.Context()))}
	k.armed.Store(true)
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for range goroutines {
		group.Go(func() {
			ids := make([]ID, maxTake)
			n, err := c.NextN(ended, ids) // ends when the millisecond is used up
			mu.Lock()
			defer mu.Unlock()
			all = append(all, ids[:n]...)
			if err == nil {
				t.Errorf("%d IDs of a millisecond that has 256", n)
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	if len(all) != 256 || len(slices.Compact(slices.Clone(all))) != 256 {
		t.Errorf("%d IDs of a millisecond, want 256 distinct ones", len(all))
	}
	if first, last := layout.Time(all[0]), layout.Time(all[len(all)-1]); !first.Equal(k.at) || !last.Equal(k.at) {
		t.Errorf("IDs of %v to %v, at %v", first, last, k.at)
	}
	if m := c.Metrics(); m.LeasedIDs != int64(len(all)) {
		t.Errorf("%d IDs are counted, want %d", m.LeasedIDs, len(all))
	}
}

// TestConcurrentIDsOverSetChanges lets goroutines make IDs while leases of some
// milliseconds come and go, the client is told that it was restored, and the
// provider fails: IDs ascend and never repeat, whatever era they are of. It goes on
// until there were several leases, and IDs of leases and without.
func TestConcurrentIDsOverSetChanges(t *testing.T) {
	g := newGrantor(time.Now)
	g.duration = 40 * time.Millisecond
	c, end := managed(t, g, Options{AcquireRetryInterval: time.Millisecond, AcquireRetryMaxInterval: 5 * time.Millisecond, MaxBackward: new(time.Duration(-1))})
	defer end()
	const goroutines = 6
	made := make([][]ID, goroutines)
	var published atomic.Int64 // the greatest ID that a call has returned
	stop := make(chan struct{})
	var wg, disturbing sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				batch := make([]ID, 1+n%5)
				before := ID(published.Load())
				got, err := c.NextN(t.Context(), batch)
				if err != nil {
					t.Error(err)
					return
				}
				if batch[0] <= before {
					t.Errorf("ID %d is not greater than %d, which was returned before the call", batch[0], before)
				}
				made[i] = append(made[i], batch[:got]...)
				raise(&published, int64(batch[got-1]))
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	disturbing.Go(func() {
		for i := 0; i < 40 || !hasSeenAll(c.Metrics()); i++ {
			time.Sleep(15 * time.Millisecond)
			switch i % 8 {
			case 2:
				g.set(func() { g.down = errDown })
			case 6:
				g.set(func() { g.down = nil })
			case 7:
				c.AfterRestore()
			}
		}
	})
	disturbing.Wait()
	close(stop)
	wg.Wait()
	for i, ids := range made {
		if !slices.IsSorted(ids) {
			t.Errorf("IDs of goroutine %d do not ascend", i)
		}
	}
	all := slices.Concat(made...)
	slices.Sort(all)
	if distinct := len(slices.Compact(slices.Clone(all))); distinct != len(all) {
		t.Errorf("%d distinct IDs of %d", distinct, len(all))
	}
	if m := c.Metrics(); m.IDs() != int64(len(all)) {
		t.Errorf("%d IDs, metrics %+v", len(all), m)
	}
}

func hasSeenAll(m Metrics) bool {
	return m.Acquires >= 5 && m.RandomFallbackIDs+m.CachedFallbackIDs > 0 && m.LeasedIDs > 0
}
