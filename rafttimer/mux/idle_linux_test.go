// SPDX-License-Identifier: Apache-2.0

package mux_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/mux"
)

// groups is how many a process hosts in the benchmarks.
const groups = 100_000

// idleTime is how long the use of the processor is measured for.
const idleTime = 5 * time.Second

// rusageThread is RUSAGE_THREAD, which package syscall lacks.
const rusageThread = 1

// cpu returns the time that a processor has spent on the process, or on the calling thread.
func cpu(tb testing.TB, who int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// inUse returns the heap in use, settled.
func inUse() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// seconds12 are the timeouts that hosts of many groups use.
var seconds12 = rafttimer.Config{ElectionTimeoutMin: time.Second, ElectionTimeoutMax: 2 * time.Second}

// BenchmarkIdle runs 100,000 groups in which nothing happens, and reports what share of one processor
// that takes, apart from what gives the contacts, and the heap in use divided by the number of groups.
func BenchmarkIdle(b *testing.B) {
	b.Run("stopped", func(b *testing.B) { idle(b, rafttimer.Config{}, (*mux.Group[int]).StopAll, 0) })
	b.Run("followers-150ms", func(b *testing.B) {
		idle(b, rafttimer.Config{}, (*mux.Group[int]).BecomeFollower, 50*time.Millisecond)
	})
	b.Run("followers-1s", func(b *testing.B) {
		idle(b, seconds12, (*mux.Group[int]).BecomeFollower, 333*time.Millisecond)
	})
	b.Run("leaders-50ms", func(b *testing.B) { idle(b, rafttimer.Config{}, (*mux.Group[int]).BecomeLeader, 0) })
	b.Run("leaders-333ms", func(b *testing.B) { idle(b, seconds12, (*mux.Group[int]).BecomeLeader, 0) })
}

func idle(b *testing.B, c rafttimer.Config, begin func(*mux.Group[int]) error, every time.Duration) {
	for range b.N {
		before := inUse()
		var counts [rafttimer.Stall + 1]atomic.Int64
		m, err := mux.New(b.Context(), func(_ *mux.Group[int], e rafttimer.Event) { counts[e.Kind].Add(1) }, mux.Options{Config: c})
		if err != nil {
			b.Fatal(err)
		}
		all := make([]*mux.Group[int], groups)
		for i := range all {
			all[i], _ = m.NewGroup(i)
		}
		f := feed(b, all, every)
		stopped, _ := f.measure(b)
		for _, g := range all {
			begin(g)
		}
		time.Sleep(time.Second)
		b.ReportMetric(float64(inUse()-before)/groups-8, "B/group") // but for the pointers of all
		running, contacts := f.measure(b)
		b.ReportMetric(running, "%core")
		b.ReportMetric(running-stopped, "%mux")
		b.ReportMetric(contacts, "%contacts")
		b.ReportMetric(float64(counts[rafttimer.ElectionTimeout].Load()), "elections")
		b.ReportMetric(float64(counts[rafttimer.Heartbeat].Load()), "heartbeats")
		close(f.ask)
		m.Close()
	}
}

// feeder gives contacts, in a thread of its own.
type feeder struct {
	ask  chan struct{}
	used chan time.Duration
}

// feed has each group hear from its leader once in a while, a part of them each millisecond or so.
func feed(b *testing.B, all []*mux.Group[int], every time.Duration) *feeder {
	f := &feeder{make(chan struct{}), make(chan time.Duration)}
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		const step = 10 * time.Millisecond
		tick := time.NewTicker(step)
		defer tick.Stop()
		if every == 0 {
			tick.Stop()
		}
		begun, next := time.Now(), 0
		for {
			select {
			case <-tick.C:
				until := int(float64(len(all)) * float64(time.Since(begun)) / float64(every))
				for next = max(next, until-len(all)); next < until; next++ {
					all[next%len(all)].Contact()
				}
			case _, ok := <-f.ask:
				if !ok {
					return
				}
				f.used <- cpu(b, rusageThread)
			}
		}
	}()
	return f
}

func (f *feeder) cpu() time.Duration {
	f.ask <- struct{}{}
	return <-f.used
}

// measure returns what share of a processor the process takes, in percent: apart from the contacts, and for them.
func (f *feeder) measure(b *testing.B) (rest, contacts float64) {
	total, fed, begun := cpu(b, syscall.RUSAGE_SELF), f.cpu(), time.Now()
	time.Sleep(idleTime)
	total, fed = cpu(b, syscall.RUSAGE_SELF)-total, f.cpu()-fed
	wall := time.Since(begun)
	return 100 * float64(total-fed) / float64(wall), 100 * float64(fed) / float64(wall)
}
