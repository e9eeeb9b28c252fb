// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// beginCopy copies one block of a tenant and stops.
func beginCopy(t *testing.T, s *tenants.Set, from, to string, o tenants.CopyOptions) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	o.Progress = func(tenants.Progress) { cancel() }
	wantError(t, second(s.Copy(ctx, from, to, o)), context.Canceled)
}

// killedAbandon abandons an arrival, and is killed before it clears anything.
func killedAbandon(t *testing.T, engine kv.Database, name string) {
	t.Helper()
	c := &crasher{Database: engine, left: -1}
	rooms := tenants.Of(open(t, c), "rooms")
	c.left = 1
	wantError(t, rooms.Abandon(ctx, name), errCrash)
}

// twoRooms makes two tenants of several blocks, which are locked.
func twoRooms(t *testing.T, db *persistable.DB) (rooms *tenants.Set, a, c tenants.Lock) {
	t.Helper()
	rooms = tenants.Of(db, "rooms")
	someNotes(t, NoteStoreOf(db, "a"), "a", 15)
	someNotes(t, NoteStoreOf(db, "c"), "c", 20)
	lock := must[tenants.Lock](t)
	return rooms, lock(rooms.Lock(ctx, "a", "")), lock(rooms.Lock(ctx, "c", ""))
}

// A copy is abandoned while it runs, by a process that is killed at once, and another copy to
// the name begins: the first one neither writes on nor makes the other one's visible.
func TestAbandonedWhileItRuns(t *testing.T) {
	for _, last := range []bool{false, true} {
		engine := enginetest.Open(t)
		db := open(t, engine)
		rooms, a, c := twoRooms(t, db)
		blocks := must[tenants.Progress](t)(rooms.Copy(ctx, "a", "all", tenants.CopyOptions{Lock: a})).Blocks
		at := int64(1)
		if last {
			at = blocks
		}
		_, err := rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: a, Progress: func(p tenants.Progress) {
			if p.Blocks == at {
				killedAbandon(t, engine, "b")
				beginCopy(t, rooms, "c", "b", tenants.CopyOptions{Lock: c})
			}
		}})
		if !errors.Is(err, tenants.ErrUnfinished) || must[bool](t)(rooms.Exists(ctx, "b")) {
			t.Errorf("abandoned after block %d of %d: %v; visible: %q", at, blocks, err, names(t, rooms))
		}
		must[tenants.Progress](t)(rooms.Copy(ctx, "c", "b", tenants.CopyOptions{Lock: c}))
		equal(t, contents(t, db, "rooms", "c"), contents(t, db, "rooms", "b"))
		if n := annotations(t, db, rooms.Path("b")); n != 0 {
			t.Errorf("the copy has %d annotations", n)
		}
	}
}

// A copy without a lock removes what it has written itself when it fails, and not what another
// copy to the name has written meanwhile.
func TestFailedCopyLeavesAnotherOne(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms, _, c := twoRooms(t, db)
	_, err := rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Progress: func(p tenants.Progress) {
		check(t, rooms.Abandon(ctx, "b"))
		beginCopy(t, rooms, "c", "b", tenants.CopyOptions{Lock: c})
	}})
	wantError(t, err, tenants.ErrUnfinished)
	blocks := 0
	p := must[tenants.Progress](t)(rooms.Copy(ctx, "c", "b", tenants.CopyOptions{Lock: c, Progress: func(tenants.Progress) { blocks++ }}))
	if int64(blocks) != p.Blocks-1 {
		t.Errorf("the other copy wrote %d of its %d blocks again, want all but the first", blocks, p.Blocks)
	}
}

// stalledEngine is an engine whose commits do not come to an end once it is stalled.
type stalledEngine struct {
	kv.Database
	stalled atomic.Bool
}

func (e *stalledEngine) Begin() (kv.Transaction, error) {
	tx, err := e.Database.Begin()
	return &stalledTx{tx, e}, err
}

type stalledTx struct {
	kv.Transaction
	engine *stalledEngine
}

func (t *stalledTx) Commit(ctx context.Context) error {
	if t.engine.stalled.Load() {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return t.Transaction.Commit(ctx)
}

// A copy whose context ends returns, even where it cannot remove what it has copied.
func TestCopyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day0))                                // IDs begin in 2026
		inner := must[*embedded.Database](t)(embedded.OpenMemory()) // its clock is the bubble's
		engine := &stalledEngine{Database: inner}
		db := open(t, engine)
		rooms := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "a"), "a", 15)
		limited, cancel := context.WithCancel(ctx)
		var since time.Time
		_, err := rooms.Copy(limited, "a", "b", tenants.CopyOptions{Progress: func(tenants.Progress) {
			engine.stalled.Store(true)
			since = time.Now()
			cancel()
		}})
		if took := time.Since(since); !errors.Is(err, context.Canceled) || !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		engine.stalled.Store(false)
		check(t, rooms.Abandon(ctx, "b"))
		check(t, second(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{})))
		check(t, db.Close())
		check(t, inner.Close())
	})
}

// onCommit calls a function after some commits, instead of the next one.
type onCommit struct {
	kv.Database
	left int
	do   func()
}

func (e *onCommit) Begin() (kv.Transaction, error) {
	tx, err := e.Database.Begin()
	return &onCommitTx{tx, e}, err
}

type onCommitTx struct {
	kv.Transaction
	engine *onCommit
}

func (t *onCommitTx) Commit(ctx context.Context) error {
	if e := t.engine; e.do != nil {
		if e.left--; e.left < 0 {
			e.do()
			e.do = nil
			return context.Canceled
		}
	}
	return t.Transaction.Commit(ctx)
}

// A copy without a lock that fails while it makes the directories leaves nothing either.
func TestCopyThatFailsEarlyLeavesNothing(t *testing.T) {
	for n := range 4 {
		engine := &onCommit{Database: enginetest.Open(t)}
		db := open(t, engine)
		someOrders(t, db, "a", 1)
		all := tenants.Of(db, "tenants")
		limited, cancel := context.WithCancel(ctx)
		engine.left, engine.do = n, cancel
		err := second(all.Copy(limited, "a", "b", tenants.CopyOptions{}))
		cancel()
		if err == nil {
			continue
		}
		wantError(t, err, context.Canceled)
		check(t, second(all.Copy(ctx, "a", "b", tenants.CopyOptions{})))
	}
}
