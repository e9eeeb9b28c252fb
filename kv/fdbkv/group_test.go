// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// A version that is being asked for may be older than a commit that a function
// saw before it began, so the function waits for the next group.
func TestGroupsStartAfterTheirReadersBegin(t *testing.T) {
	db := openAt(t, false)
	joined := make([]*group, 3)
	for i := range joined {
		a, err := db.groups.join(db)
		if err != nil {
			t.Fatal(err)
		}
		joined[i] = a.group
	}
	if !joined[0].started {
		t.Error("the first group does not start although no version is being asked for")
	}
	if joined[1] == joined[0] || joined[1].started {
		t.Error("a function joined a group whose version was being asked for, or its own has started")
	}
	if joined[2] != joined[1] {
		t.Error("two functions that wait for the next version do not share it")
	}
	db.groups.startNext()
	if !joined[1].started {
		t.Error("the next group does not start when the version has arrived")
	}
}

// While a cluster does not answer, functions that end leave nothing in their group.
func TestMembersLeaveTheirGroup(t *testing.T) {
	db := openAt(t, false)
	db.groups.few = 0
	first, err := db.groups.join(db) // its version does not arrive
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
			tx.Snapshot().Get([]byte(kv.MetadataVersionKey))
			tx.Get([]byte("a"))
			waits := tx.Get([]byte("b"))
			waits.Done()
			if g := db.groups.gathering; g == nil || len(g.members) != 1 {
				t.Error("the function has not joined the group that gathers")
			}
			cancel()
			_, err := waits.Get(ctx)
			return err
		})
		if err == nil {
			t.Fatal("a read of a cluster that is down")
		}
		if db.groups.gathering != nil || db.countOpen() != 1 {
			t.Fatalf("%d attempts are known after the end, want that of the first group", db.countOpen())
		}
	}
	if n := len(first.group.members); n != 1 {
		t.Errorf("the group has %d members, want 1", n)
	}
}

// A group that is full takes no other function, which reads on its own.
func TestGroupsAreBounded(t *testing.T) {
	db := openAt(t, false)
	for range mostMembers + 1 { // the first group has the first function only
		if a, err := db.groups.join(db); a == nil {
			t.Fatalf("a group is full early: %v", err)
		}
	}
	if a, err := db.groups.join(db); a != nil || err != nil {
		t.Errorf("%v, %v: want no place in a group that is full", a, err)
	}
	tx := newTransaction(db, true)
	defer tx.Release()
	if a, err := tx.attemptForRead(); err != nil || a.group != nil {
		t.Errorf("%v: a function does not read on its own where the group is full", err)
	}
}

// Reads are repeated at once, not one after another.
func TestReadsAreRepeatedInParallel(t *testing.T) {
	db := openAt(t, true)
	db.groups.few = 0
	tx := newTransaction(db, true)
	defer tx.Release()
	if _, err := tx.Get([]byte("a")).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	tx.reads = []sharedRead{
		{call: func(h *handle, _ bool) *cFuture { return h.watch([]byte("a")) }}, // arrives with the next call
		{call: func(h *handle, _ bool) *cFuture { close(asked); h.cancel(); return h.approximateSize() }},
	}
	go tx.ownAttempt()
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		tx.shared.Load().giveUpReads()
		t.Error("the second read waits for the first")
	}
}
