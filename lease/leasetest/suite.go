// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"log/slog"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// Suite says how to reach what is to be tested.
type Suite struct {
	// Open opens the store of a name: an empty one the first time in a test,
	// after that the same one again, as another process would. Names consist of
	// letters, digits and hyphens. The store is closed by t.Cleanup.
	Open func(t *testing.T, name string) lease.Store

	// Front returns what clients see of a server, as lease/http's client does;
	// nil means the server itself.
	Front func(t *testing.T, server *lease.Server) idgen.LeaseProvider

	// Process returns the command of a process that opens the store of a name
	// and calls [Work] with it. nil where one process has the store for itself.
	Process func(t *testing.T, name string) *exec.Cmd
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Store", testStore},
		{"StoreSerializable", testStoreSerializable},
		{"Acquire", testAcquire},
		{"Throughput", testThroughput},
		{"RoundRobin", testRoundRobin},
		{"Services", testServices},
		{"Enumerate", testEnumerate},
		{"MadeUpServices", testMadeUpServices},
		{"RemovedService", testRemovedService},
		{"OthersServices", testOthersServices},
		{"Epoch", testEpoch},
		{"Limits", testLimits},
		{"List", testList},
		{"Clock", testClock},
		{"SkewedClocks", testSkewedClocks},
		{"ClockYearAhead", testClockYearAhead},
		{"ClockJump", testClockJump},
		{"ClockPaused", testClockPaused},
		{"ClockIdle", testClockIdle},
		{"ClockSetLate", testClockSetLate},
		{"ClocksApart", testClocksApart},
		{"Fallback", testFallback},
		{"Shortened", testShortened},
		{"ShortenedQueue", testShortenedQueue},
		{"RequestKey", testRequestKey},
		{"RequestKeyForgotten", testRequestKeyForgotten},
		{"Release", testRelease},
		{"ReleaseForged", testReleaseForged},
		{"ReleaseRepeated", testReleaseRepeated},
		{"ReleaseLate", testReleaseLate},
		{"ReleaseReplayed", testReleaseReplayed},
		{"ReleaseLiteral", testReleaseLiteral},
		{"Renew", testRenew},
		{"RenewCut", testRenewCut},
		{"RenewRefused", testRenewRefused},
		{"Plain", testPlain},
		{"PlainShortened", testPlainShortened},
		{"PlainClock", testPlainClock},
		{"Exhaustion", testExhaustion},
		{"MixedLayouts", testMixedLayouts},
		{"Random", testRandom},
		{"Concurrent", testConcurrent},
		{"ConcurrentRequestKey", testConcurrentRequestKey},
		{"Processes", testProcesses},
		{"Loss", testLoss},
		{"LossWhileRunning", testLossWhileRunning},
		{"LossShortened", testLossShortened},
		{"LossRandom", testLossRandom},
		{"Budget", testBudget},
		{"BudgetRandom", testBudgetRandom},
		{"Corrupt", testCorrupt},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, s)) })
	}
}

// fixture is one test on a store of its own, with a clock and a ledger.
type fixture struct {
	*testing.T
	Suite
	name   string
	now    atomic.Int64 // Unix milliseconds
	ledger Ledger
}

func newFixture(t *testing.T, s Suite) *fixture {
	f := &fixture{T: t, Suite: s, name: strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "-"), "_", "-")}
	f.now.Store(idgen.DefaultCustomEpochMs + 1_000_000_000)
	return f
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

// node is a server of the store, as clients see it, with a clock that may be
// off, and a monotonic clock that stands still while the machine is paused.
type node struct {
	idgen.LeaseProvider
	server *lease.Server
	off    atomic.Int64 // milliseconds
	paused atomic.Int64 // milliseconds
}

// node opens the store and returns a server of it.
func (f *fixture) node(options lease.Options) *node {
	f.Helper()
	return f.nodeOf(f.Open(f.T, f.name), options)
}

func (f *fixture) nodeOf(store lease.Store, options lease.Options) *node {
	f.Helper()
	n := &node{}
	begin := f.now.Load()
	options.Monotonic = func() time.Duration {
		return time.Duration(f.now.Load()-begin-n.paused.Load()) * time.Millisecond
	}
	options.Logger = slog.New(slog.DiscardHandler)
	server, err := lease.NewServer(AtTime(store, func() time.Time { return time.UnixMilli(f.now.Load() + n.off.Load()) }), options)
	if err != nil {
		f.Fatal(err)
	}
	n.server, n.LeaseProvider = server, server
	if f.Front != nil {
		n.LeaseProvider = f.Front(f.T, server)
	}
	return n
}

// acquire asks for leases of the default service, which have to be granted, and
// enters them into the ledger.
func (f *fixture) acquire(n *node, throughput int) []idgen.Lease {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: throughput})
	if err != nil {
		f.Fatal(err)
	}
	f.granted(leases, throughput)
	return leases
}

// granted checks leases and enters them into the ledger.
func (f *fixture) granted(leases []idgen.Lease, throughput int) {
	f.Helper()
	if total := throughputOf(leases); total < max(throughput, 1) {
		f.Fatalf("asked for %d positions, got %d", throughput, total)
	}
	if err := f.ledger.Granted(leases...); err != nil {
		f.Fatal(err)
	}
}

func throughputOf(leases []idgen.Lease) int {
	total := 0
	for _, l := range leases {
		total += l.ThroughputPerMs()
	}
	return total
}

// release gives a lease of the default service back, which has to succeed.
func (f *fixture) release(n *node, l idgen.Lease, lastTs int64) {
	f.Helper()
	if err := n.Release(f.Context(), l.Release("", lastTs, time.UnixMilli(f.now.Load()))); err != nil {
		f.Fatal(err)
	}
	f.ledger.Released(l, lastTs)
}

// fresh are the options of a store that is known to be new.
func fresh() lease.Options { return lease.Options{Fresh: true} }

// small is a service with 64 positions, leased by 2^bitSeq.
func small(bitSeq int) lease.Options {
	layout := idgen.Layout{CustomEpochMs: idgen.DefaultCustomEpochMs, BitReserve: 16, BitTs: 41, BitID: 7 - bitSeq, BitSeq: bitSeq}
	return lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: layout}}
}
