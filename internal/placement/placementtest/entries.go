// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// testWholeEntries checks that all of an entry comes back, belonging together.
func testWholeEntries(f *fixture) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	l := f.mustClaim(f.startMember("a"), key)
	for _, r := range []core.ActivationRecord{
		{},
		{PID: "pid", Snapshot: every, Version: 1},
		{PID: strings.Repeat("p", 1000), Version: math.MaxUint64},
		{Snapshot: []byte{0}, Version: 1 << 63},
	} {
		e := f.newEntry(l)
		e.Record, e.Topology, e.Address = r, math.MaxInt64, "[::1]:4000"
		e.ObservedAt = f.now.Add(123456789 * time.Nanosecond)
		f.mustStore(l, e)
		f.checkStored(key, &e)
	}
	if f.Second != nil {
		e := f.newEntry(l)
		f.mustStore(l, e)
		got, err := f.Second.Storage.Load(f.ctx, key)
		if err != nil {
			f.Fatal(err)
		}
		f.checkSame(got, &e)
	}
}

// testForeignEntry stores entries that are not of the lease.
func testForeignEntry(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	for _, change := range []func(*core.ActivationEntry){
		func(e *core.ActivationEntry) { e.Owner = b },
		func(e *core.ActivationEntry) { e.Owner.Incarnation++ },
		func(e *core.ActivationEntry) { e.Epoch++ },
		func(e *core.ActivationEntry) { e.Epoch-- },
	} {
		e := f.newEntry(l)
		change(&e)
		f.checkStaleStorage("an entry that is not of the lease", "store", f.Storage.Store(f.ctx, l, e))
		f.checkStored(key, nil)
	}
}

// testNoSharedMemory changes what was given to the home, and what it gave.
func testNoSharedMemory(f *fixture) {
	l := f.mustClaim(f.startMember("a"), key)
	e := f.newEntry(l)
	want := f.newEntry(l)
	f.mustStore(l, e)
	e.Record.Snapshot[0] ^= 1
	f.checkStored(key, &want)
	got, err := f.Storage.Load(f.ctx, key)
	if err != nil || got == nil {
		f.Fatalf("got %v and %v", got, err)
	}
	got.Record.Snapshot[0] ^= 1
	got.Record.PID, got.Epoch = "changed", 99
	f.checkStored(key, &want)
	again := f.mustClaim(l.Owner, key)
	if again.Entry != nil {
		again.Entry.Record.Snapshot[0] ^= 1
		again.Entry.Record.PID = "changed"
	}
	f.checkStored(key, &want)
}

// testLargeSnapshots stores the largest snapshot, and refuses one that is larger
// before it writes anything.
func testLargeSnapshots(f *fixture) {
	l := f.mustClaim(f.startMember("a"), key)
	large, small := f.newEntry(l), f.newEntry(l)
	large.Record.Snapshot = bytes.Repeat([]byte("0123456789abcdef"), f.MaxSnapshot/16+1)[:f.MaxSnapshot]
	f.refuseTooLarge(l, large, nil)
	f.mustStore(l, large)
	f.checkStored(key, &large)
	f.mustStore(l, small)
	f.checkStored(key, &small)
	f.refuseTooLarge(l, large, &small)
	f.mustStore(l, small)
	f.checkStored(key, &small)
}

// badKeys are refused by [placement.Key.Validate].
var badKeys = []placement.Key{
	{},
	{Kind: "thing"},
	{ID: "1"},
	{Kind: "a/b", ID: "1"},
	{Kind: "thing\x00", ID: "1"},
	{Kind: "thing", ID: "1\x00"},
	{Kind: "thing\xff", ID: "1"},
	{Kind: "thing", ID: "\xc3"},
	{Kind: strings.Repeat("k", placement.MaxKind+1), ID: "1"},
	{Kind: "thing", ID: strings.Repeat("i", placement.MaxID+1)},
}

// testBadKeys checks that each call refuses each bad key, with an error that says what is wrong with it.
func testBadKeys(f *fixture) {
	a := f.startMember("a")
	for _, bad := range badKeys {
		l := core.Lease{Key: bad, Owner: a, Request: 1, Epoch: 1}
		_, acquire := f.Lock.TryAcquire(f.ctx, f.newClaim(a, bad))
		_, load := f.Storage.Load(f.ctx, bad)
		for what, err := range map[string]error{
			"TryAcquire": acquire,
			"Release":    f.Lock.Release(f.ctx, l),
			"Load":       load,
			"Store":      f.Storage.Store(f.ctx, l, f.newEntry(l)),
			"Remove":     f.Storage.Remove(f.ctx, bad, a, 1),
		} {
			if want := bad.Validate(); !errors.Is(err, placement.ErrInvalidKey) || !strings.Contains(err.Error(), want.Error()) {
				f.Errorf("%s of the key %.40q: got %v, want %v", what, bad, err, want)
			}
		}
	}
}

// similarKeys are different keys, which a careless encoding or comparison takes
// for one.
var similarKeys = []placement.Key{
	{Kind: "a", ID: "b/c"},
	{Kind: "a", ID: "b"},
	{Kind: "ab", ID: "c"},
	{Kind: "a", ID: "bc"},
	{Kind: "a", ID: "B"},
	{Kind: "A", ID: "b"},
	{Kind: "a", ID: "b "},
	{Kind: "a", ID: " b"},
	{Kind: "a", ID: "b\n"},
	{Kind: "a", ID: "é"},
	{Kind: "a", ID: "e\u0301"},
	{Kind: "a", ID: "\u007f"},
	{Kind: "a", ID: "\u0080"},
	{Kind: "a", ID: "\ufeff"},
	{Kind: "a", ID: "\U0010ffff"},
	{Kind: "a", ID: "b%2Fc"},
	{Kind: "a", ID: `b\c`},
	{Kind: "a", ID: "*"},
	{Kind: "a", ID: "1"},
	{Kind: "a", ID: "01"},
	{Kind: strings.Repeat("k", placement.MaxKind), ID: strings.Repeat("i", placement.MaxID)},
	{Kind: strings.Repeat("k", placement.MaxKind), ID: strings.Repeat("i", placement.MaxID-1)},
}

// testKeysApart checks that each key has its own claim and entry.
func testKeysApart(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	entries := map[placement.Key]core.ActivationEntry{}
	for _, k := range similarKeys {
		f.checkStored(k, nil)
		entries[k] = f.mustActivate(a, k)
	}
	for _, k := range similarKeys {
		e := entries[k]
		f.checkStored(k, &e)
		f.mustRemove(k, a, e.Epoch)
		f.checkStored(k, nil)
	}
	for _, k := range similarKeys {
		f.mustClaim(b, k)
	}
}

// testBadOwners checks that an owner without a name or an incarnation is granted
// nothing and removes nothing: the zero owner stands for "free".
func testBadOwners(f *fixture) {
	for _, owner := range []placement.Owner{{}, {Name: "a"}, {Incarnation: 1}, {Name: "a", Incarnation: -1}} {
		if l, err := f.Lock.TryAcquire(f.ctx, f.newClaim(owner, key)); err == nil {
			f.Errorf("the owner %q was granted %+v", owner, l)
		}
		l := core.Lease{Key: key, Owner: owner}
		if err := f.Storage.Store(f.ctx, l, f.newEntry(l)); err == nil {
			f.Errorf("the owner %q stored an entry", owner)
		}
		if err := f.Storage.Remove(f.ctx, key, owner, 0); err == nil {
			f.Errorf("the owner %q removed an entry", owner)
		}
	}
	f.checkStored(key, nil)
	f.mustActivate(f.startMember("a"), key)
}

// testEndedContext checks that with a context that has ended nothing is done, and
// the error says why.
func testEndedContext(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	e := f.newEntry(l)
	f.mustStore(l, e)
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	other := placement.Key{Kind: "thing", ID: "other"}
	_, acquire := f.Lock.TryAcquire(ended, f.newClaim(a, other))
	_, load := f.Storage.Load(ended, key)
	changed := e
	changed.Record.PID = "changed"
	f.checkEndedLock("TryAcquire", acquire)
	f.checkEndedLock("Release", f.Lock.Release(ended, l))
	f.checkEndedStorage("load", load)
	f.checkEndedStorage("store", f.Storage.Store(ended, l, changed))
	f.checkEndedStorage("remove", f.Storage.Remove(ended, key, a, l.Epoch))
	f.checkStored(key, &e)
	f.mustBeHeld(b, key, l)
	f.mustClaim(b, other)
}
