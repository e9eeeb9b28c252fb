// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// locks is a right home with leases that lapse, and with every hook that it can have.
func locks(t testing.TB) Home {
	home := newMemory(t, memory.Options{})
	return withHooks(Home{Lock: home, Storage: home, TTL: memory.DefaultTTL, MaxSnapshot: memory.DefaultMaxSnapshot})
}

// kept is a right home where the claim is the activation.
func kept(t testing.TB) Home {
	home := newMemory(t, memory.Options{Kept: true})
	return withHooks(Home{Lock: home, Storage: home, Kill: home.Evict, MaxSnapshot: memory.DefaultMaxSnapshot})
}

func newMemory(t testing.TB, o memory.Options) *memory.Home {
	home, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// withHooks adds a second process and answers that are lost.
func withHooks(h Home) Home {
	second := h
	h.Second = &second
	l := &lossyHome{Lock: h.Lock, Storage: h.Storage}
	h.Lock, h.Storage = l, l
	h.Lose = func(executed bool) {
		l.next.Store(1)
		if executed {
			l.next.Store(2)
		}
	}
	return h
}

// lossyHome loses the answer of one call.
type lossyHome struct {
	driver.Lock
	driver.Storage
	next atomic.Int32 // 0: answer; 1: fail; 2: do and fail
}

// call makes the call, or not, and says whether its answer is lost.
func (l *lossyHome) call(do func()) bool {
	next := l.next.Swap(0)
	if next != 1 {
		do()
	}
	return next != 0
}

var errLost = errors.Join(placement.ErrUnavailable, errors.New("the answer is lost"))

func (l *lossyHome) TryAcquire(ctx context.Context, c core.TryAcquire) (lease core.Lease, err error) {
	if l.call(func() { lease, err = l.Lock.TryAcquire(ctx, c) }) {
		return core.Lease{}, &core.LockError{Key: c.Key, Err: errLost}
	}
	return lease, err
}

func (l *lossyHome) Release(ctx context.Context, lease core.Lease) (err error) {
	if l.call(func() { err = l.Lock.Release(ctx, lease) }) {
		return &core.LockError{Key: lease.Key, Err: errLost}
	}
	return err
}

func (l *lossyHome) Store(ctx context.Context, lease core.Lease, e core.ActivationEntry) (err error) {
	if l.call(func() { err = l.Storage.Store(ctx, lease, e) }) {
		return &core.StorageError{Key: lease.Key, Op: "store", Err: errLost}
	}
	return err
}

func (l *lossyHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) (err error) {
	if l.call(func() { err = l.Storage.Remove(ctx, key, owner, epoch) }) {
		return &core.StorageError{Key: key, Op: "remove", Err: errLost}
	}
	return err
}

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
	"names another key":  {breakBoth(namesAnotherKey), []string{"bad keys"}},
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

// TestRightHomes checks that the laws find nothing in homes without fault. The
// hooks of the homes let every law run in one of them.
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

// patchedHome is a home with some methods replaced.
type patchedHome struct {
	driver.Lock
	driver.Storage
	tryAcquire func(context.Context, core.TryAcquire) (core.Lease, error)
	release    func(context.Context, core.Lease) error
	load       func(context.Context, placement.Key) (*core.ActivationEntry, error)
	store      func(context.Context, core.Lease, core.ActivationEntry) error
	remove     func(context.Context, placement.Key, placement.Owner, int64) error
}

func (b *patchedHome) TryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
	return b.tryAcquire(ctx, c)
}

func (b *patchedHome) Release(ctx context.Context, l core.Lease) error { return b.release(ctx, l) }

func (b *patchedHome) Load(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
	return b.load(ctx, key)
}

func (b *patchedHome) Store(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
	return b.store(ctx, l, e)
}

func (b *patchedHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return b.remove(ctx, key, owner, epoch)
}

// breakWith opens a right home and lets damage replace methods and hooks.
func breakWith(open func(testing.TB) Home, damage func(*Home, *patchedHome)) func(testing.TB) Home {
	return func(t testing.TB) Home {
		h := open(t)
		b := &patchedHome{
			Lock: h.Lock, Storage: h.Storage, tryAcquire: h.Lock.TryAcquire, release: h.Lock.Release,
			load: h.Storage.Load, store: h.Storage.Store, remove: h.Storage.Remove,
		}
		h.Lock, h.Storage = b, b
		damage(&h, b)
		return h
	}
}

func breakLocks(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return []func(testing.TB) Home{breakWith(locks, damage)}
}

func breakKept(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return []func(testing.TB) Home{breakWith(kept, damage)}
}

func breakBoth(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return append(breakLocks(damage), breakKept(damage)...)
}

// recorder is a testing.TB that keeps what a law reports, instead of failing.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	faults []string
}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, text)
}

func (r *recorder) Helper() {}

func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Error(args ...any) { r.note(fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.note(fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// faultsOf runs the law and returns what it reports.
func faultsOf(t testing.TB, l law, open func(testing.TB) Home) []string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(r, open)
	}()
	<-done
	return r.faults
}
