// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

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

// inUse returns the memory that heap and stacks use, settled.
func inUse() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// seconds are the timeouts that hosts of many groups use.
var seconds = rafttimer.Config{ElectionTimeoutMin: time.Second, ElectionTimeoutMax: 2 * time.Second}

// member is a [rafttimer.Group] or a [rafttimer.Driver].
type member interface {
	BecomeFollower() error
	BecomeLeader() error
	StopAll() error
	Contact()
}

// host runs the timers of many groups.
type host func(b *testing.B, c rafttimer.Config, on func(rafttimer.Event)) (newMember func() member, close func())

func muxHost(b *testing.B, c rafttimer.Config, on func(rafttimer.Event)) (func() member, func()) {
	m := newMux(b, func(_ *rafttimer.Group[int], e rafttimer.Event) { on(e) }, rafttimer.MuxOptions{Config: c})
	return func() member { return newGroup(b, m, 0) }, func() { m.Close() }
}

// driverHost has a driver for each, each with a goroutine.
func driverHost(b *testing.B, c rafttimer.Config, on func(rafttimer.Event)) (func() member, func()) {
	var all []*rafttimer.Driver
	newDriver := func() member {
		d, err := rafttimer.New(context.Background(), rafttimer.Options{Config: c, OnElectionTimeout: on, OnHeartbeat: on, OnStall: on})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, d)
		return d
	}
	return newDriver, func() {
		for _, d := range all {
			d.Close()
		}
	}
}

// BenchmarkIdle runs 100,000 groups in which nothing happens but contacts or heartbeats, and reports what
// share of one processor their timers take, apart from the thread that gives the contacts: the whole
// process (%process), and what is more than while the timers are stopped (%timers). It also reports the memory in use, stacks included,
// divided by the number of groups.
func BenchmarkIdle(b *testing.B) {
	for _, host := range []struct {
		name string
		host host
	}{{"mux", muxHost}, {"drivers", driverHost}} {
		b.Run("stopped/"+host.name, func(b *testing.B) { idle(b, host.host, rafttimer.Config{}, member.StopAll, 0) })
		b.Run("followers-150ms/"+host.name, func(b *testing.B) {
			idle(b, host.host, rafttimer.Config{}, member.BecomeFollower, 50*time.Millisecond)
		})
		b.Run("followers-1s/"+host.name, func(b *testing.B) {
			idle(b, host.host, seconds, member.BecomeFollower, 333*time.Millisecond)
		})
		b.Run("leaders-50ms/"+host.name, func(b *testing.B) { idle(b, host.host, rafttimer.Config{}, member.BecomeLeader, 0) })
		b.Run("leaders-333ms/"+host.name, func(b *testing.B) { idle(b, host.host, seconds, member.BecomeLeader, 0) })
	}
}

func idle(b *testing.B, host host, c rafttimer.Config, begin func(member) error, every time.Duration) {
	for range b.N {
		var counts [rafttimer.Stall + 1]atomic.Int64
		all := make([]member, groups)
		before := inUse()
		newMember, end := host(b, c, func(e rafttimer.Event) { counts[e.Kind].Add(1) })
		for i := range all {
			all[i] = newMember()
		}
		f := feed(b, all, every)
		stopped, _ := f.measure(b)
		for _, g := range all {
			begin(g)
		}
		time.Sleep(time.Second)
		b.ReportMetric(float64(inUse()-before)/groups, "B/group")
		begun := counts[rafttimer.Heartbeat].Load()
		running, contacts := f.measure(b)
		beats := counts[rafttimer.Heartbeat].Load() - begun
		b.ReportMetric(running, "%process")
		b.ReportMetric(running-stopped, "%timers")
		b.ReportMetric(contacts, "%contacts")
		b.ReportMetric(float64(counts[rafttimer.ElectionTimeout].Load()), "elections")
		b.ReportMetric(float64(beats)/idleTime.Seconds(), "beats/s")
		close(f.ask)
		end()
	}
}

// feeder gives contacts, in a thread of its own.
type feeder struct {
	ask  chan struct{}
	used chan time.Duration
}

// feed has each group hear from its leader once in a while, a part of them each millisecond or so.
func feed(b *testing.B, all []member, every time.Duration) *feeder {
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
