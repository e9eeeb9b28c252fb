// SPDX-License-Identifier: Apache-2.0

// Package leasetest checks stores of leases, and what stands before them: one
// suite for every implementation of [lease.Store].
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, leasetest.Suite{
//			Open: func(t *testing.T, name string) lease.Store {
//				return openMyStore(t, name)
//			},
//		})
//	}
//
// A store needs three things that are easily forgotten: Open returns the same data
// again for a name, even while an earlier handle of it is open, so that handles
// lock each other out; errors of the function are returned and change nothing;
// and the store lists its services. The tests Store and StoreSerializable fail
// first if the map is wrong; the others then check what a server makes of it.
//
// Each lease that the suite is granted goes into a [Ledger], a naive model that
// knows every lease ever granted and refuses one that shares a millisecond of a
// position with another. Time in the suite is its own ([AtTime]), except where
// other processes take part.
//
// It is for tests; everything in it but Run may be used by several goroutines.
package leasetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
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
		{"ClockMinutes", testClockMinutes},
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
		{"BudgetReplaced", testBudgetReplaced},
		{"BudgetReplacedLate", testBudgetReplacedLate},
		{"BudgetRandom", testBudgetRandom},
		{"Corrupt", testCorrupt},
		{"UnreadableRows", testUnreadableRows},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, s)) })
	}
}

// fresh are the options of a store that is known to be new.
func fresh() lease.Options { return lease.Options{Fresh: true} }

// small is a service with 64 positions, leased by 2^bitSeq.
func small(bitSeq int) lease.Options {
	layout := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 7 - bitSeq, SequenceBits: bitSeq}
	return lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: layout}}
}

// Ledger is the naive model of a lease server: everything it ever granted for
// one service, as the holders use it. The zero value is empty. It is safe for
// concurrent use.
type Ledger struct {
	mu  sync.Mutex
	all []ledgerEntry
}

// ledgerEntry is a lease as its holder uses it: IDs are made in the positions of the
// lease from Created up to end, and with the fallback bit set in the stretch
// that follows Expired, unless it was released.
type ledgerEntry struct {
	idgen.Lease
	end       int64 // Expired, or after the last millisecond used
	continues bool
}

// AddGrant adds new leases. It returns an error if one is not valid, or could
// make an ID that another one in the ledger could make, too, be it with the
// fallback bit.
func (l *Ledger) AddGrant(leases ...idgen.Lease) error {
	for _, lease := range leases {
		if err := l.add(lease, 0); err != nil {
			return err
		}
	}
	return nil
}

// add adds a lease; one that was released already, after lastTs, if that is not
// 0.
func (l *Ledger) add(lease idgen.Lease, lastTs int64) error {
	if err := lease.Validate(); err != nil {
		return err
	}
	granted := ledgerEntry{Lease: lease, end: lease.Expired, continues: true}
	if lastTs != 0 {
		granted.end, granted.continues = lastTs+1, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.all {
		if why := granted.overlapWith(other); why != "" {
			return fmt.Errorf("leasetest: %s\nnew: %+v\nold: %+v", why, granted, other)
		}
	}
	l.all = append(l.all, granted)
	return nil
}

// AddRelease notes that the holder makes no ID under the lease after lastTs, and
// does not continue it.
func (l *Ledger) AddRelease(lease idgen.Lease, lastTs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.all, func(h ledgerEntry) bool { return h.Lease == lease }); i >= 0 {
		l.all[i].end, l.all[i].continues = lastTs+1, false
	}
}

// Len returns the number of leases that were granted.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// overlapWith returns why two holders might make the same ID, "" if they cannot.
func (h ledgerEntry) overlapWith(o ledgerEntry) string {
	hSize, oSize := uint64(h.Throughput()), uint64(o.Throughput())
	if h.Base() >= o.Base()+oSize || o.Base() >= h.Base()+hSize {
		return ""
	}
	if max(h.Created, o.Created) < min(h.end, o.end) {
		return "leased twice"
	}
	until := func(l idgen.Lease) int64 { return l.Expired + l.Duration().Milliseconds() }
	if h.continues && o.continues && max(h.Expired, o.Expired) < min(until(h.Lease), until(o.Lease)) {
		return "continued twice"
	}
	return ""
}

// workLeases is how many times [Work] acquires.
const workLeases = 40

// Work is what a process of [Suite.Process] does: it acquires leases from store
// and writes them to w, in JSON, one in a line. Some it releases.
func Work(ctx context.Context, store lease.Store, w io.Writer) error {
	server, err := lease.NewServer(store, fresh())
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for i := range workLeases {
		leases, err := server.Acquire(ctx, idgen.AcquireRequest{Throughput: 1 << (7 + i%3)})
		if err != nil {
			return err
		}
		line := workLine{Leases: leases}
		if i%4 == 0 {
			line.LastTs = leases[0].Created
			if err := server.Release(ctx, leases[0].Release("", line.LastTs, time.UnixMilli(leases[0].Created))); err != nil {
				return err
			}
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// workLine is a line of the output of Work.
type workLine struct {
	Leases []idgen.Lease
	LastTs int64 // of the first lease, if it was released
}
