// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"os/exec"
	"testing"

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
	layout := idgen.Layout{CustomEpochMs: idgen.DefaultCustomEpochMs, BitReserve: 16, BitTs: 41, BitID: 7 - bitSeq, BitSeq: bitSeq}
	return lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: layout}}
}
