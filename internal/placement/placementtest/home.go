// SPDX-License-Identifier: Apache-2.0

// Package placementtest has the contract of a home of locks and entries,
// [driver.Lock] and [driver.Storage], as tests.
//
//	func TestHome(t *testing.T) {
//		placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
//			home, err := memory.New(memory.Options{})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return placementtest.Home{Lock: home, Storage: home, TTL: memory.DefaultTTL}
//		})
//	}
//
// The laws below "protoactor" and "orleans" are the cases of Proto.Actor's
// IdentityStorageTests and of Orleans' GrainDirectoryTests, by their names, in
// terms of this contract.
package placementtest

import (
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
)

// Home is a home under test. Lock, Storage, and TTL or Kill are needed; a law that
// needs another field which is zero is left out.
type Home struct {
	Lock    driver.Lock
	Storage driver.Storage
	// Second is the same home as another process has it. nil: there is one for
	// the whole process.
	Second *Home
	// TTL is how long a lease lasts by the clock of the commands; 0: as long as
	// its owner lives.
	TTL time.Duration
	// Join starts a member and returns its incarnation, which is greater than
	// those of the name before. nil: members need not be known to the home, and
	// the suite counts incarnations.
	Join func(name string) placement.Owner
	// Kill makes an owner dead for the home. When it has returned others are
	// granted what the owner had, and the owner is granted nothing. nil: TTL says
	// when they are.
	Kill func(owner placement.Owner)
	// Leave lets a member leave cleanly, with the effects of Kill. nil: as Kill.
	Leave func(owner placement.Owner)
	// Lose makes the next call of Lock or Storage fail with an ErrUnavailable; if
	// executed is set, what it was to do is done all the same. nil leaves
	// the law out.
	Lose func(executed bool)
	// MaxSnapshot is how many bytes the largest snapshot that is stored has. 0
	// leaves the law out.
	MaxSnapshot int
}

// law is a part of the contract.
type law struct {
	name    string
	check   func(*fixture)
	applies func(Home) bool // nil: to every home
}

var laws = []law{
	{"protoactor/GlobalLockActivatesOnceOnly", testOneOfMany, nil},
	{"protoactor/GlobalLockActivatesOnceOnlyAcrossMultipleClients", testOneOfManyProcesses, hasSecond},
	{"protoactor/CannotTakeLockWhenAlreadyActivated", testActivatedIsFound, nil},
	{"protoactor/CanDeleteSpawnLocks", testReleased, nil},
	{"protoactor/CanStoreActivation", testStored, nil},
	{"protoactor/CannotStoreOverExisting", testForgedLeaseOverEntry, nil},
	{"protoactor/CannotStoreWithoutLock", testForgedLease, nil},
	{"protoactor/CanRemoveActivation", testRemoved, nil},
	{"protoactor/DoesNotRemoveIfIdDoesNotMatch", testRemoveOthers, nil},
	{"protoactor/CanRemoveByMember", testDeadMember, nil},
	{"protoactor/WillNotRemoveCurrentActivationByPrevMember", testDeadPredecessor, nil},
	{"protoactor/CanRemoveMemberWithManyActivations", testDeadMemberOfMany, nil},
	{"protoactor/CanWaitForActivation", testLoserIsToldWinner, nil},
	{"protoactor/RemovesLockIfStale", testStaleLock, nil},
	{"orleans/RegisterLookupUnregisterLookup", testRegister, nil},
	{"orleans/DoNotOverwriteEntry", testNoOverwrite, nil},
	{"orleans/OverwriteEntryIfMatch", testOverwriteOwn, nil},
	{"orleans/DoNotDeleteDifferentActivationIdEntry", testRemoveOtherEpoch, nil},
	{"orleans/LookupNotFound", testNotFound, nil},
	{"epochs only grow", testEpochs, nil},
	{"epochs end earlier leases", testNewEpochEndsOld, nil},
	{"late claim", testLateClaim, nil},
	{"repeated claim", testRepeatedClaim, nil},
	{"repeated store", testRepeatedStore, nil},
	{"repeated release", testRepeatedRelease, nil},
	{"repeated removal", testRepeatedRemoval, nil},
	{"unknown outcome", testUnknownOutcome, hasLose},
	{"stale confirm", testStaleConfirm, nil},
	{"stale release", testStaleRelease, nil},
	{"stale removal", testStaleRemoval, nil},
	{"lapsed lease", testLapsed, hasTTL},
	{"release keeps what was before", testReleaseKeeps, nil},
	{"incarnations", testIncarnations, nil},
	{"dead claimant", testDeadClaimant, hasKill},
	{"clean leave", testLeave, nil},
	{"whole entries", testWholeEntries, nil},
	{"entry of another lease", testForeignEntry, nil},
	{"no shared memory", testNoSharedMemory, nil},
	{"large snapshots", testLargeSnapshots, hasLimit},
	{"bad keys", testBadKeys, nil},
	{"keys are apart", testKeysApart, nil},
	{"bad owners", testBadOwners, nil},
	{"ended context", testEndedContext, nil},
	{"concurrent repeats", testConcurrentRepeats, nil},
	{"concurrent owners", testConcurrentOwners, nil},
	{"concurrent takeover", testConcurrentTakeover, nil},
	{"random", testRandom, nil},
}

func hasSecond(h Home) bool { return h.Second != nil }

func hasLose(h Home) bool { return h.Lose != nil }

func hasTTL(h Home) bool { return h.TTL > 0 }

func hasKill(h Home) bool { return h.Kill != nil }

func hasLimit(h Home) bool { return h.MaxSnapshot > 0 }

// RunHome runs the whole contract. It calls open for each law, with that law's
// t, for an empty home.
func RunHome(t *testing.T, open func(t testing.TB) Home) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.run(t, open) })
	}
}

func (l law) run(t testing.TB, open func(t testing.TB) Home) {
	if h := open(t); l.applies == nil || l.applies(h) {
		l.check(newFixture(t, h))
	}
}
