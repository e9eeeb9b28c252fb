// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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
		t.Error("a function joined a group that was asking for its version, or its own has started")
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
	tx.share = true
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
	tx.share = true
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

// openAt opens the cluster of the environment, or one that never answers.
func openAt(t *testing.T, reachable bool) *Database {
	t.Helper()
	file := os.Getenv("FDB_CLUSTER_FILE")
	if !reachable {
		file = filepath.Join(t.TempDir(), "fdb.cluster")
		if err := os.WriteFile(file, []byte("unreachable:here@127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if file == "" {
		t.Fatal("this test needs a FoundationDB cluster: set FDB_CLUSTER_FILE to its cluster file")
	}
	db, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// awaitUntil waits until a condition holds, which the client's thread brings about.
func awaitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		runtime.Gosched()
	}
}

func (db *Database) countOpen() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.open)
}

// Transactions that were begun and forgotten leave nothing in memory.
func TestGarbageIsReleased(t *testing.T) {
	db := openAt(t, true)
	for range 500 {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		tx.Get([]byte("a"))
		tx.Reset()
		tx.GetReadVersion()
	}
	awaitUntil(t, "attempts of forgotten transactions are still known", func() bool {
		runtime.GC()
		return db.countOpen() == 0
	})
}

// A transaction that has ended holds nothing of the client, without the collector: not
// itself, not the results that no caller took.
func TestEndedTransactionsHoldNothing(t *testing.T) {
	refused := errors.New("refused")
	for name, end := range map[string]error{"success": nil, "failure": refused} {
		for _, reachable := range []bool{true, false} {
			db := openAt(t, reachable)
			use := func(tx kv.ReadTransaction) error {
				awaited := tx.Get([]byte("a"))
				awaited.Done()
				tx.GetRange(kv.PrefixRange([]byte("a")).Selectors(), kv.RangeOptions{})
				if !reachable {
					return end
				}
				_, err := awaited.Get(t.Context())
				return errors.Join(err, end)
			}
			for kind, run := range map[string]func() (*transaction, error){
				"Transact": func() (own *transaction, err error) {
					if !reachable && end == nil {
						return nil, nil // its commit would not end
					}
					err = db.Transact(t.Context(), func(tx kv.Transaction) error { own = tx.(*transaction); return use(tx) })
					return own, err
				},
				"ReadTransact": func() (own *transaction, err error) {
					err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error { own = tx.(*transaction); return use(tx) })
					return own, err
				},
				"shared": func() (own *transaction, err error) {
					db.groups.few = 0
					defer func() { db.groups.few = 8 }()
					err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error { own = tx.(*transaction); return use(tx) })
					return own, err
				},
				"Retry": func() (*transaction, error) {
					tx, err := db.Begin()
					if err != nil || !reachable && end == nil {
						tx.(*transaction).Release()
						return nil, err
					}
					return tx.(*transaction), kv.Retry(t.Context(), tx, func(kv.Attempt) error { return use(tx) })
				},
			} {
				own, err := run()
				if !errors.Is(err, end) || end == nil && err != nil {
					t.Errorf("%s, %s: %v", kind, name, err)
				}
				if own == nil {
					continue
				}
				for _, a := range []*attempt{own.current.Load(), own.shared.Load()} {
					if a == nil {
						continue
					}
					if a.group == nil && a.isDestroyed() == 0 {
						t.Errorf("%s, %s: the client's transaction is there", kind, name)
					}
					awaitUntil(t, kind+": results are held", func() bool { return !a.futures.hasOutstanding() })
				}
			}
			if reachable {
				awaitUntil(t, "attempts are still known", func() bool { return db.countOpen() == 0 })
			} else if n := db.countOpen(); n > 1 { // that of the group that does not get its version
				t.Errorf("%s: %d attempts are known", name, n)
			}
		}
	}
}

// A transaction is not freed while a call of it is under way, and no call reaches it
// afterwards.
func TestDestroyWaitsForCalls(t *testing.T) {
	h, err := openAt(t, false).createHandle(true)
	if err != nil {
		t.Fatal(err)
	}
	within, proceed, destroyed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go h.do(func(*cTransaction) { close(within); <-proceed })
	<-within
	go func() { h.destroy(kv.CodeTransactionCancelled); close(destroyed) }()
	awaitUntil(t, "destroy does not wait", func() bool { // a writer that waits keeps readers out
		if h.mu.TryRLock() {
			h.mu.RUnlock()
			return false
		}
		return true
	})
	select {
	case <-destroyed:
		t.Error("the transaction was freed during a call")
	default:
	}
	close(proceed)
	<-destroyed
	if code := h.do(func(*cTransaction) { t.Error("a call reached a transaction that was freed") }); code != cCode(kv.CodeTransactionCancelled) {
		t.Errorf("a call after the end: %d, want %d", code, kv.CodeTransactionCancelled)
	}
}

// Contexts end, and cancel their transactions, while these are freed.
func TestContextsEndWhileTransactionsAreFreed(t *testing.T) {
	db := openAt(t, false)
	for range 3000 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		go cancel()
		_ = kv.Retry(ctx, tx, func(kv.Attempt) error {
			tx.Set([]byte("a"), nil)
			runtime.Gosched()
			return errors.New("refused")
		})
		cancel()
	}
}
