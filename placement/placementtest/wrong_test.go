// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"strings"
	"testing"
)

// wrong are homes with one fault each, and laws that must notice it.
var wrong = map[string]struct {
	open []func(testing.TB) Home
	laws []string
}{
	"grants all":         {breakBoth(grantsAll), []string{"protoactor/GlobalLockActivatesOnceOnly", "protoactor/CanDeleteSpawnLocks", "protoactor/CanWaitForActivation", "orleans/DoNotOverwriteEntry", "concurrent owners", "random"}},
	"apart":              {breakBoth(apart), []string{"protoactor/GlobalLockActivatesOnceOnlyAcrossMultipleClients", "whole entries", "concurrent owners"}},
	"no winner":          {breakBoth(noWinner), []string{"protoactor/GlobalLockActivatesOnceOnly", "protoactor/CanWaitForActivation"}},
	"forgets entries":    {breakBoth(forgetsEntries), []string{"protoactor/CannotTakeLockWhenAlreadyActivated", "protoactor/CanStoreActivation"}},
	"never releases":     {breakBoth(neverReleases), []string{"protoactor/CanDeleteSpawnLocks", "repeated release", "random"}},
	"stores blindly":     {breakBoth(storesBlindly), []string{"protoactor/CannotStoreOverExisting", "protoactor/CannotStoreWithoutLock", "orleans/DoNotOverwriteEntry", "stale confirm", "epochs end earlier leases", "entry of another lease", "concurrent takeover", "random"}},
	"never removes":      {breakBoth(neverRemoves), []string{"protoactor/CanRemoveActivation", "orleans/RegisterLookupUnregisterLookup", "repeated removal"}},
	"removes blindly":    {breakBoth(removesBlindly), []string{"protoactor/DoesNotRemoveIfIdDoesNotMatch", "protoactor/WillNotRemoveCurrentActivationByPrevMember", "orleans/DoNotDeleteDifferentActivationIdEntry", "stale removal", "random"}},
	"removes by owner":   {breakBoth(removesByOwner), []string{"orleans/DoNotDeleteDifferentActivationIdEntry"}},
	"the dead hold on":   {breakKept(deadHoldOn), []string{"protoactor/CanRemoveByMember", "protoactor/CanRemoveMemberWithManyActivations", "protoactor/RemovesLockIfStale", "clean leave", "dead claimant"}},
	"a dead one claims":  {breakKept(deadClaims), []string{"dead claimant", "clean leave"}},
	"some dead hold on":  {breakKept(someDeadHoldOn), []string{"protoactor/CanRemoveMemberWithManyActivations"}},
	"death takes all":    {breakKept(deathTakesAll), []string{"protoactor/WillNotRemoveCurrentActivationByPrevMember", "protoactor/CanRemoveByMember"}},
	"never lapses":       {breakLocks(neverLapses), []string{"protoactor/RemovesLockIfStale", "lapsed lease", "clean leave"}},
	"lapses late":        {breakLocks(lapsesLate), []string{"lapsed lease"}},
	"stores when lapsed": {breakLocks(storesWhenLapsed), []string{"lapsed lease"}},
	"own claim refused":  {breakBoth(ownRefused), []string{"orleans/OverwriteEntryIfMatch", "epochs end earlier leases"}},
	"late claims count":  {breakBoth(lateClaimsCount), []string{"late claim"}},
	"old lease stands":   {breakBoth(oldStands), []string{"orleans/OverwriteEntryIfMatch", "epochs end earlier leases", "random"}},
	"an empty entry":     {breakBoth(emptyEntry), []string{"orleans/LookupNotFound"}},
	"epochs start anew":  {breakBoth(epochsAnew), []string{"epochs only grow"}},
	"every claim is new": {breakBoth(everyClaimNew), []string{"repeated claim", "concurrent repeats", "random"}},
	"request ids alone":  {breakBoth(requestsAlone), []string{"repeated claim"}},
	"store once":         {breakBoth(storeOnce), []string{"repeated store", "unknown outcome"}},
	"release once":       {breakBoth(releaseOnce), []string{"repeated release", "unknown outcome"}},
	"remove once":        {breakBoth(removeOnce), []string{"repeated removal", "unknown outcome"}},
	"releases blindly":   {breakBoth(releasesBlindly), []string{"stale release", "epochs end earlier leases", "repeated release"}},
	"release clears":     {breakBoth(releaseClears), []string{"release keeps what was before"}},
	"names are owners":   {breakBoth(namesAreOwners), []string{"incarnations"}},
	"forgets snapshots":  {breakBoth(forgetsSnapshots), []string{"whole entries", "protoactor/CanStoreActivation"}},
	"rounds times":       {breakBoth(roundsTimes), []string{"whole entries"}},
	"shares its memory":  {breakBoth(sharesMemory), []string{"no shared memory"}},
	"writes, then fails": {breakBoth(writesThenFails), []string{"large snapshots"}},
	"cuts snapshots":     {breakBoth(cutsSnapshots), []string{"large snapshots"}},
	"takes any key":      {breakBoth(takesAnyKey), []string{"bad keys"}},
	"folds cases":        {breakBoth(foldsCases), []string{"keys are apart"}},
	"joins kind and id":  {breakBoth(joinsKindAndID), []string{"keys are apart"}},
	"the zero owner":     {breakBoth(takesAnyOwner), []string{"bad owners"}},
	"deaf":               {breakBoth(deaf), []string{"ended context"}},
	"plain errors":       {breakBoth(plainErrors), []string{"stale confirm", "stale release", "stale removal", "ended context"}},
	"races":              {breakBoth(racy), []string{"concurrent owners"}},
}

// TestWrongHomes checks that each law finds the homes that break it, and that
// there is such a home for each law.
func TestWrongHomes(t *testing.T) {
	caught := map[string]bool{}
	byName := map[string]law{}
	for _, l := range laws {
		byName[l.name] = l
	}
	for name, home := range wrong {
		t.Run(name, func(t *testing.T) {
			for _, lawName := range home.laws {
				l, known := byName[lawName]
				if !known {
					t.Fatalf("there is no law %q", lawName)
				}
				caught[lawName] = true
				found := 0
				for _, open := range home.open {
					found += len(faultsOf(t, l, open))
				}
				if found == 0 {
					t.Errorf("the law %q finds nothing", lawName)
				}
			}
		})
	}
	for _, l := range laws {
		if !caught[l.name] {
			t.Errorf("no wrong home shows that the law %q can fail", l.name)
		}
	}
}

// TestRightHomes checks that the laws find nothing in homes without fault, whose
// hooks let every law run in one of them.
func TestRightHomes(t *testing.T) {
	ran := map[string]bool{}
	for name, open := range map[string]func(testing.TB) Home{"locks": locks, "kept": kept} {
		h := open(t)
		for _, l := range laws {
			ran[l.name] = ran[l.name] || l.applies == nil || l.applies(h)
			if faults := faultsOf(t, l, open); len(faults) > 0 {
				t.Errorf("%s: the law %q finds:\n%s", name, l.name, strings.Join(faults, "\n"))
			}
		}
	}
	for _, l := range laws {
		if !ran[l.name] {
			t.Errorf("the law %q does not run", l.name)
		}
	}
}
