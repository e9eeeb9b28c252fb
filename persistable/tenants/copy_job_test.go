// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// largeRoom makes a tenant of several megabytes in one directory, and of many directories that are small
// or empty. It returns its lock.
func largeRoom(t *testing.T, db *persistable.DB, name string) tenants.Lock {
	t.Helper()
	s := NoteStoreOf(db, name)
	someNotes(t, s, name, 100)
	programKeys(t, db, "rooms", name)
	for i := range 100 {
		_, err := directory.Root().CreateOrOpen(ctx, db.Engine(), []string{"rooms", name, "many", fmt.Sprint(i)})
		check(t, err)
	}
	return must[tenants.Lock](t)(tenants.Of(db, "rooms").Lock(ctx, name, "copy"))
}

// pairsOf returns how many pairs there are among the contents of a tenant.
func pairsOf(contents map[string]string) (n int64) {
	for key := range contents {
		if !strings.HasSuffix(key, " layer") {
			n++
		}
	}
	return n
}

// Several processes make one copy. Each key is copied once, and all calls that began before the end return
// without an error.
func TestCopyIsShared(t *testing.T) {
	for name, wrap := range map[string]func(testing.TB, kv.Database) kv.Database{
		"plain":   func(_ testing.TB, e kv.Database) kv.Database { return e },
		"hostile": func(t testing.TB, e kv.Database) kv.Database { return faults.HostileT(t, e) },
	} {
		t.Run(name, func(t *testing.T) {
			engine := enginetest.Open(t)
			db := open(t, engine)
			lock := largeRoom(t, db, "a")
			before := contents(t, db, "rooms", "a")
			var began sync.WaitGroup
			began.Add(3)
			var calls sync.WaitGroup
			var most int64
			var mu sync.Mutex
			for range 3 {
				process := open(t, wrap(t, engine))
				together := worklist.WithHook(ctx, func(s worklist.Stage) {
					if s == "copy-begun" {
						began.Done()
						began.Wait()
					}
				})
				calls.Go(func() {
					p, err := tenants.Of(process, "rooms").Copy(together, "a", "b", tenants.CopyOptions{Lock: lock, Workers: 3})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					most = max(most, p.Pairs)
				})
			}
			calls.Wait()
			if most != pairsOf(before) {
				t.Errorf("%d pairs were copied, want %d", most, pairsOf(before))
			}
			equal(t, before, contents(t, db, "rooms", "b"))
			sound(t, NoteStoreOf(db, "b").Indexes().Verify)
			if n := annotations(t, db, []string{"rooms", "b"}); n != 0 {
				t.Errorf("the copy has %d annotations", n)
			}
		})
	}
}

// The keys of a large tenant are divided into ranges: its large directory at split points, its small ones not.
func TestCopyIsDivided(t *testing.T) {
	db := open(t, enginetest.Open(t))
	lock := largeRoom(t, db, "a")
	rooms, arriving := tenants.Of(db, "rooms"), []string{"kazahana", "tenants", "/rooms", "arriving", "b"}
	ranges := 0
	must[tenants.Progress](t)(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Progress: func(tenants.Progress) {
		ranges = annotations(t, db, arriving) - 1
	}}))
	if ranges < 4 || ranges > 20 {
		t.Errorf("there are %d ranges for 3 MB in one directory and 107 small ones", ranges)
	}
}

// hasClaims reports whether a worker has claimed a range of an arriving copy: it has none between two ranges.
func hasClaims(t *testing.T, db *persistable.DB, name string) (claimed bool) {
	t.Helper()
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := directory.Root().Open(ctx, tx, []string{"kazahana", "tenants", "/rooms", "arriving", name})
		if err != nil {
			return err
		}
		ranges, err := worklist.List{Prefix: d.Annotation("kazahana").Sub("arrival").Sub("range").Bytes()}.ReadAll(ctx, tx)
		claimed = slices.ContainsFunc(ranges, func(r worklist.Range) bool { return !r.IsDone() && len(r.Worker) > 0 })
		return err
	}))
	return claimed
}

// Another process copies what a worker has claimed that was killed, and knows how much was copied.
func TestCopyOfAKilledProcess(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db, killed := open(t, engine), open(t, c)
	lock := largeRoom(t, db, "a")
	var there tenants.Progress
	err := second(tenants.Of(killed, "rooms").Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Progress: func(p tenants.Progress) {
		if there = p; p.Blocks >= 4 && hasClaims(t, db, "b") {
			c.left = 0
		}
	}}))
	c.left = -1
	wantError(t, err, errCrash)
	var first *tenants.Progress
	begun := time.Now()
	p := must[tenants.Progress](t)(tenants.Of(db, "rooms").Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Workers: 2, Lease: 50 * time.Millisecond, Progress: func(p tenants.Progress) {
		if first == nil {
			first = &p
		}
	}}))
	if first.Blocks <= there.Blocks || first.Pairs < there.Pairs || p.Pairs != pairsOf(contents(t, db, "rooms", "a")) {
		t.Errorf("the killed process came to %+v, the next one began with %+v and ended with %+v", there, first, p)
	}
	if took := time.Since(begun); took < 50*time.Millisecond {
		t.Errorf("the claim was taken over after %v", took)
	}
	equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", "b"))
}

// A tenant that is unlocked while its copy is made is not copied on by any worker.
func TestSharedCopyLosesItsLock(t *testing.T) {
	db := open(t, enginetest.Open(t))
	lock := largeRoom(t, db, "a")
	rooms := tenants.Of(db, "rooms")
	unlock := sync.OnceFunc(func() { check(t, rooms.Unlock(ctx, lock)) })
	err := second(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Workers: 4, Progress: func(tenants.Progress) { unlock() }}))
	wantError(t, err, tenants.ErrLockLost)
	if must[bool](t)(rooms.Exists(ctx, "b")) {
		t.Error("the copy is visible")
	}
	check(t, rooms.Abandon(ctx, "b"))
}

// An abandoned copy ends for all its workers, even if the process that abandoned it was killed.
func TestSharedCopyIsAbandoned(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	lock := largeRoom(t, db, "a")
	rooms := tenants.Of(db, "rooms")
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	abandon := sync.OnceFunc(func() { killedAbandon(t, engine, "b") })
	err := second(rooms.Copy(limited, "a", "b", tenants.CopyOptions{Lock: lock, Workers: 4, Progress: func(tenants.Progress) { abandon() }}))
	wantError(t, err, tenants.ErrUnfinished)
	must[tenants.Progress](t)(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock}))
	equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", "b"))
}

func TestCopyOptions(t *testing.T) {
	if err := (tenants.CopyOptions{}).Validate(); err != nil {
		t.Error(err)
	}
	err := tenants.CopyOptions{Workers: 1001, Lease: -time.Second}.Validate()
	for _, text := range []string{"Workers is 1001, must be from 0 to 1000", "without a Lock one worker", "Lease is -1s"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v lacks %q", err, text)
		}
	}
	db := open(t, enginetest.Open(t))
	if err := second(tenants.Of(db, "rooms").Copy(ctx, "a", "b", tenants.CopyOptions{Workers: 2})); err == nil || errors.Is(err, tenants.ErrNotFound) {
		t.Errorf("a copy with wrong options: %v", err)
	}
}
