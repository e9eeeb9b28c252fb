// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// programKeys adds to a tenant what programs keep there besides stores: directories in
// directories, partitions, empty ones, and keys of any bytes.
func programKeys(t testing.TB, db *persistable.DB, path ...string) {
	t.Helper()
	layers := map[string]string{"": "", "files": "files", "part": directory.Partition, "empty": ""}
	for name, layer := range layers {
		for _, sub := range []string{"", "sub"} {
			at := append(append([]string{}, path...), "more", "of "+name)
			if sub != "" {
				at = append(at, sub)
			}
			d, err := directory.Root().CreateOrOpen(ctx, db.Engine(), at, directory.ElementAs(len(path)+1, layer))
			check(t, err)
			prefix, err := d.Prefix()
			if err != nil || name == "empty" {
				continue
			}
			check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				for _, key := range []string{"", "\x00", "S", "\x02S\x00", "\x02S\x00\x02x", "\xff\xff", "\xfe"} {
					tx.Set(append(append([]byte{}, prefix...), key...), []byte(sub+key))
				}
				return nil
			}))
		}
	}
}

func TestCopy(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all, rooms := tenants.Of(db, "tenants"), tenants.Of(db, "rooms")
		orders := someOrders(t, db, "a", 20)
		programKeys(t, db, "tenants", "a")
		someNotes(t, NoteStoreOf(db, "a"), "a", 12)
		for _, c := range []struct {
			set    *tenants.Set
			parent string
		}{{all, "tenants"}, {rooms, "rooms"}} {
			check(t, c.set.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
			lock := must[tenants.Lock](t)(c.set.Lock(ctx, "a", "copy"))
			blocks := 0
			p := must[tenants.Progress](t)(c.set.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Progress: func(tenants.Progress) { blocks++ }}))
			want := contents(t, db, c.parent, "a")
			equal(t, want, contents(t, db, c.parent, "b"))
			if p.Blocks < int64(blocks) || blocks < 1 || p.Pairs < 12 || p.Bytes < 1000 {
				t.Errorf("%d blocks, %+v", blocks, p)
			}
			if u := must[tenants.Usage](t)(c.set.Usage(ctx, "b")); u != (tenants.Usage{}) {
				t.Errorf("the copy has the quota %+v", u)
			}
			if _, locked, _ := c.set.LockOf(ctx, "b"); locked {
				t.Error("the copy is locked")
			}
			if n := annotations(t, db, c.set.Path("b")); n != 0 {
				t.Errorf("the copy has %d annotations", n)
			}
			wantError(t, second(c.set.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock})), tenants.ErrExists)
			check(t, c.set.Unlock(ctx, lock))
			wantError(t, second(c.set.Copy(ctx, "a", "c", tenants.CopyOptions{Lock: lock})), tenants.ErrLockLost)
			wantError(t, second(c.set.Copy(ctx, "missing", "c", tenants.CopyOptions{})), tenants.ErrNotFound)
			if err := second(c.set.Copy(ctx, "b", "c", tenants.CopyOptions{Lock: lock})); err == nil {
				t.Error("the lock of another tenant is taken")
			}
		}
		b := OrderStoreOf(db, "b")
		o := must[*Order](t)(b.Get(ctx, orders[3].ID))
		o.Number = "changed in b"
		check(t, b.Save(ctx, o))
		sound(t, b.Indexes().Verify)
		if o := must[*Order](t)(OrderStoreOf(db, "a").Get(ctx, orders[3].ID)); o.Number != "0003" || o.TenantID != "a" {
			t.Errorf("the original is %+v", o)
		}
		sound(t, NoteStoreOf(db, "b").Indexes().Verify)
	})
}

// annotations returns how many keys there are about a directory.
func annotations(t testing.TB, db *persistable.DB, path []string) (n int) {
	t.Helper()
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := directory.Root().Open(ctx, tx, path)
		if err != nil {
			return err
		}
		pairs, err := tx.GetRange(kv.PrefixRange(d.Annotation("kazahana").Bytes()).Selectors(), kv.RangeOptions{}).Slice(ctx)
		n = len(pairs)
		return err
	}))
	return n
}

// A tenant that is written to all the time is copied at one version: no transfer is
// half in the copy.
func TestCopyOfALiveTenant(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	orders := someOrders(t, db, "a", 40)
	s := OrderStoreOf(db, "a")
	sum := func(s *OrderStore) (n int64) {
		for o, err := range s.Scan().All(ctx) {
			check(t, err)
			n += o.Amount
		}
		return n
	}
	want := sum(s)
	var end atomic.Bool
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := w; !end.Load(); i++ {
				from, to := orders[i%40].ID, orders[(i*7+3)%40].ID
				if from == to {
					continue
				}
				err := db.Transact(ctx, func(tx persistable.Tx) error {
					add := func(n int64) func(o *Order) error {
						return func(o *Order) error { o.Amount += n; o.Status = OrderStatus((int(o.Status) + 1) % 3); return nil }
					}
					return errors.Join(s.In(tx).Update(ctx, from, add(-1)), s.In(tx).Update(ctx, to, add(1)))
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 10 {
		name := fmt.Sprint("copy ", i)
		must[tenants.Progress](t)(all.Copy(ctx, "a", name, tenants.CopyOptions{}))
		if got := sum(OrderStoreOf(db, name)); got != want {
			t.Errorf("the amounts of the copy are %d, want %d", got, want)
		}
		sound(t, OrderStoreOf(db, name).Indexes().Verify)
	}
	end.Store(true)
	writers.Wait()
}

// What is written between the blocks of a copy is not in it.
func TestCopyIsOfOneVersion(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms, s := tenants.Of(db, "rooms"), NoteStoreOf(db, "a")
	someNotes(t, s, "a", 100)
	before := contents(t, db, "rooms", "a")
	p := must[tenants.Progress](t)(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Progress: func(p tenants.Progress) {
		check(t, s.Save(ctx, &Note{ID: 100, Room: "a", Title: fmt.Sprint("after block ", p.Blocks)}))
		check(t, s.Delete(ctx, 100-p.Blocks))
	}}))
	if p.Blocks < 4 {
		t.Errorf("%+v", p)
	}
	equal(t, before, contents(t, db, "rooms", "b"))
}

// A copy that stops goes on under the same lock, and not under another one.
func TestCopyContinues(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		rooms := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "a"), "a", 100)
		lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "copy"))
		stop := func(after int64) error {
			ctx, cancel := withCancel()
			defer cancel()
			_, err := rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Progress: func(p tenants.Progress) {
				if p.Blocks >= after {
					cancel()
				}
			}})
			return err
		}
		for _, after := range []int64{1, 2, 4} {
			if err := stop(after); err == nil {
				t.Fatal("the copy did not stop")
			}
			if got := names(t, rooms); len(got) != 1 {
				t.Fatalf("an unfinished copy is visible: %q", got)
			}
		}
		check(t, rooms.Unlock(ctx, lock))
		another := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "copy"))
		wantError(t, second(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: another})), tenants.ErrUnfinished)
		check(t, rooms.Abandon(ctx, "b"))
		check(t, rooms.Abandon(ctx, "b"))
		lock = another
		if err := stop(3); err == nil {
			t.Fatal("the copy did not stop")
		}
		blocks := 0
		p := must[tenants.Progress](t)(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Progress: func(tenants.Progress) { blocks++ }}))
		if p.Blocks < 6 || int64(blocks) > p.Blocks-3 {
			t.Errorf("%d blocks after the stop, of %+v", blocks, p)
		}
		equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", "b"))
	})
}

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
// copy to the name has written by then.
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

// stalledEngine is an engine with commits that do not end once it is stalled.
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

// A copy returns when its context ends, even where it cannot remove what it has copied.
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
