// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
	var published atomic.Int64 // the greatest ID whose call has returned
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
