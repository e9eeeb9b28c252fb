// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"bytes"
	"math"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// testWholeEntries checks that all of an entry comes back, belonging together.
func testWholeEntries(f *fixture) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	l := f.mustClaim(f.startMember("a"), key)
	for _, r := range []placement.ActivationRecord{
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
	for _, change := range []func(*placement.ActivationEntry){
		func(e *placement.ActivationEntry) { e.Owner = b },
		func(e *placement.ActivationEntry) { e.Owner.Incarnation++ },
		func(e *placement.ActivationEntry) { e.Epoch++ },
		func(e *placement.ActivationEntry) { e.Epoch-- },
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
