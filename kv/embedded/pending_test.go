// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// TestReadsOverlap begins a hundred reads of a disk that hangs: all of them reach
// it before the first is answered.
func TestReadsOverlap(t *testing.T) {
	db, disk := openCold(t)
	tx := begin(t, db)
	defer tx.Cancel()
	disk.block(true)
	var futures []kv.Future[[]byte]
	for i := range 99 {
		futures = append(futures, tx.Get(coldKey(10*i+5)))
	}
	next := tx.GetKey(kv.FirstGreaterThan(coldKey(990)))
	disk.await(t, 100)
	for i, f := range futures {
		if f.Ready() {
			value, err := f.Get(bounded(t))
			t.Fatalf("read %d is ready while the disk hangs: %d bytes, %v", i, len(value), err)
		}
	}
	disk.block(false)
	for i, f := range futures {
		if value, err := f.Get(bounded(t)); err != nil || len(value) != 1000 || value[0] != byte(10*i+5) {
			t.Errorf("read %d: %d bytes, %v", i, len(value), err)
		}
	}
	if key, err := next.Get(bounded(t)); err != nil || string(key) != string(coldKey(991)) {
		t.Errorf("the selector leads to %q (%v), want %q", key, err, coldKey(991))
	}
}

// TestMoreReadsThanReaders begins more reads than may be under way.
func TestMoreReadsThanReaders(t *testing.T) {
	db, disk := openCold(t)
	tx := begin(t, db)
	defer tx.Cancel()
	disk.block(true)
	var futures []kv.Future[[]byte]
	for i := range coldKeys {
		futures = append(futures, tx.Get(coldKey(i)))
	}
	awaitReaders(t, db)
	disk.block(false)
	for i, f := range futures {
		if value, err := f.Get(bounded(t)); err != nil || value[0] != byte(i) {
			t.Errorf("read %d: %v", i, err)
		}
	}
}

// TestReadsSeeTheWritesBeforeThem writes while reads are under way: a read sees
// what was written before it was begun, and nothing later.
func TestReadsSeeTheWritesBeforeThem(t *testing.T) {
	db, disk := openCold(t)
	tx := begin(t, db)
	defer tx.Cancel()
	tx.Atomic(kv.AppendIfFits, coldKey(10), []byte("1"))
	tx.Set(coldKey(21), []byte("1"))
	disk.block(true)
	sum := tx.Get(coldKey(10))
	some := tx.GetRange(kv.KeyRange{Begin: coldKey(20), End: coldKey(23)}.Selectors(), kv.RangeOptions{})
	back := tx.GetRange(kv.KeyRange{Begin: coldKey(20), End: coldKey(23)}.Selectors(), kv.RangeOptions{Reverse: true})
	key := tx.GetKey(kv.FirstGreaterThan(coldKey(30)))
	tx.Atomic(kv.AppendIfFits, coldKey(10), []byte("2"))
	tx.Set(coldKey(21), []byte("2"))
	tx.Clear(coldKey(22))
	tx.Set(append(coldKey(30), '+'), nil)
	disk.block(false)
	if value, err := sum.Get(bounded(t)); err != nil || string(value[1000:]) != "1" {
		t.Errorf("Get: %q, %v; want the stored value and then 1", value[min(1000, len(value)):], err)
	}
	for what, r := range map[string]kv.RangeResult{"forward": some, "backward": back} {
		got := map[string]int{}
		for pair, err := range r.All(bounded(t)) {
			if err != nil {
				t.Fatal(err)
			}
			got[string(pair.Key)] = len(pair.Value)
		}
		want := map[string]int{string(coldKey(20)): 1000, string(coldKey(21)): 1, string(coldKey(22)): 1000}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, the lengths of values (-want +got):\n%s", what, diff)
		}
	}
	if got, err := key.Get(bounded(t)); err != nil || string(got) != string(coldKey(31)) {
		t.Errorf("GetKey: %q, %v; want %q", got, err, coldKey(31))
	}
	if value, err := tx.Get(coldKey(10)).Get(bounded(t)); err != nil || string(value[1000:]) != "12" {
		t.Errorf("a later Get: %v, want the stored value and then 12", err)
	}
}

// underWay begins one read of each kind.
func underWay(tx kv.Transaction) map[string]func(context.Context) error {
	get := tx.Get(coldKey(100))
	key := tx.GetKey(kv.KeySelector{Key: coldKey(200), Offset: 600})
	some := tx.Snapshot().GetRange(kv.KeyRange{Begin: coldKey(300), End: coldKey(900)}.Selectors(), kv.RangeOptions{Mode: kv.ModeExact, Limit: 600})
	watch := tx.Watch(coldKey(910))
	return map[string]func(context.Context) error{
		"Get":      func(ctx context.Context) error { _, err := get.Get(ctx); return err },
		"GetKey":   func(ctx context.Context) error { _, err := key.Get(ctx); return err },
		"GetRange": func(ctx context.Context) error { _, err := some.Slice(ctx); return err },
		"Watch":    func(ctx context.Context) error { _, err := watch.Get(ctx); return err },
	}
}

// TestReadsUnderWayEnd ends a transaction while its reads hang in the disk: their
// futures become ready at once.
func TestReadsUnderWayEnd(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	errEnded := errors.New("the context has ended")
	cancel(errEnded)
	for name, c := range map[string]struct {
		end  func(tx kv.Transaction)
		ctx  context.Context
		want error
		code kv.Code
	}{
		"context": {end: func(kv.Transaction) {}, ctx: ended, want: errEnded},
		"Cancel":  {end: kv.Transaction.Cancel, code: kv.CodeTransactionCancelled},
		"Reset":   {end: kv.Transaction.Reset, code: kv.CodeTransactionCancelled},
		"timeout": {end: func(tx kv.Transaction) {
			if err := tx.SetOption(kv.OptionTimeout, 1); err != nil {
				t.Error(err)
			}
		}, code: kv.CodeTransactionTimedOut},
		"OnError": {end: func(tx kv.Transaction) {
			if err := tx.OnError(t.Context(), kv.NewError(kv.CodeNotCommitted, "")); err != nil {
				t.Error(err)
			}
		}, code: kv.CodeTransactionCancelled},
		"used during the commit": {end: func(tx kv.Transaction) {
			tx.CommitAsync()
			tx.Set([]byte("late"), nil)
		}, code: kv.CodeUsedDuringCommit},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			tx := begin(t, db)
			defer tx.Cancel()
			disk.block(true)
			reads := underWay(tx)
			disk.await(t, 3)
			c.end(tx)
			for what, wait := range reads {
				ctx := c.ctx
				if ctx == nil {
					ctx = bounded(t)
				}
				if what == "Watch" && (name == "Cancel" || name == "timeout" || name == "used during the commit") {
					continue // which may never become ready
				}
				if err := wait(ctx); err == nil || c.want != nil && !errors.Is(err, c.want) || kv.CodeOf(err) != c.code {
					t.Errorf("%s: %v, want code %d", what, err, c.code)
				}
			}
			if c.ctx != nil {
				return
			}
			before := disk.count()
			disk.block(false)
			db.readers.Wait()
			if more := disk.count() - before; more > 100 {
				t.Errorf("%d reads of the disk were made for futures that have ended", more)
			}
		})
	}
}

// TestCommitAwaitsReads commits while a read is under way: the commit waits, and
// conflicts on what the read has seen, or fails as the read does.
func TestCommitAwaitsReads(t *testing.T) {
	for name, c := range map[string]struct {
		between func(t *testing.T, db *Database, tx kv.Transaction)
		code    kv.Code
	}{
		"undisturbed": {between: func(*testing.T, *Database, kv.Transaction) {}},
		"conflict": {between: func(t *testing.T, db *Database, _ kv.Transaction) {
			transact(t, db, func(tx kv.Transaction) { tx.Set(coldKey(301), nil) })
		}, code: kv.CodeNotCommitted},
		"cancelled": {between: func(_ *testing.T, _ *Database, tx kv.Transaction) { tx.Cancel() }, code: kv.CodeTransactionCancelled},
		"reset":     {between: func(_ *testing.T, _ *Database, tx kv.Transaction) { tx.Reset() }, code: kv.CodeTransactionCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			tx := begin(t, db)
			defer tx.Cancel()
			disk.block(true)
			tx.GetRange(kv.KeyRange{Begin: coldKey(300), End: coldKey(305)}.Selectors(), kv.RangeOptions{})
			tx.Set([]byte("result"), []byte("1"))
			commit := tx.CommitAsync()
			disk.await(t, 1)
			if commit.Ready() {
				t.Error("the commit has ended before the read")
			}
			c.between(t, db, tx)
			disk.block(false)
			_, err := commit.Get(bounded(t))
			wantCode(t, "the commit", err, c.code)
			if got, want := valueOf(t, db, []byte("result")), map[bool]string{true: "1"}[c.code == 0]; got != want {
				t.Errorf("the key holds %q, want %q", got, want)
			}
		})
	}
}

// TestWatchOfAColdKey writes the key of a watch while the value that the watch
// is to compare with is being read.
func TestWatchOfAColdKey(t *testing.T) {
	for name, c := range map[string]struct {
		write func(tx kv.Transaction)
		fires bool
	}{
		"nothing": {write: func(kv.Transaction) {}},
		"set":     {write: func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("other")) }, fires: true},
		"added":   {write: func(tx kv.Transaction) { tx.Atomic(kv.Add, coldKey(500), []byte{1}) }, fires: true},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			tx := begin(t, db)
			disk.block(true)
			watch := tx.Watch(coldKey(500))
			c.write(tx)
			commit := tx.CommitAsync()
			disk.block(false)
			if _, err := commit.Get(bounded(t)); err != nil {
				t.Fatal(err)
			}
			if !c.fires {
				if watch.Ready() {
					t.Error("the watch has fired before a change")
				}
				transact(t, db, func(tx kv.Transaction) { tx.Clear(coldKey(500)) })
			}
			if _, err := watch.Get(bounded(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// longRead is more steps than a read may take in the goroutine that begins it.
const longRead = 4096

// TestLongReadsInMemoryEnd begins a read of many steps while all goroutines that
// read are busy: Cancel ends it, the transaction stays usable, and the read is
// never made.
func TestLongReadsInMemoryEnd(t *testing.T) {
	db := memoryWith(t)
	transact(t, db, func(tx kv.Transaction) {
		for i := range 3 * longRead {
			tx.Set(fmt.Appendf(nil, "%06d", i), nil)
		}
	})
	for name, read := range map[string]func(tx kv.Transaction) func(context.Context) error{
		"GetKey": func(tx kv.Transaction) func(context.Context) error {
			f := tx.GetKey(kv.KeySelector{Offset: 2 * longRead})
			return func(ctx context.Context) error { _, err := f.Get(ctx); return err }
		},
		"GetRange": func(tx kv.Transaction) func(context.Context) error {
			r := tx.GetRange(everything.Selectors(), kv.RangeOptions{Mode: kv.ModeExact, Limit: 2 * longRead})
			return func(ctx context.Context) error { _, err := r.Slice(ctx); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			tx := begin(t, db)
			if err := read(tx)(bounded(t)); err != nil {
				t.Fatal(err)
			}
			db.readers.Wait() // for the goroutine that made the read to end
			release := occupyReaders(t, db)
			wait := read(tx)
			read(tx) // so that the first one is not held back
			if _, err := tx.Get([]byte("000001")).Get(bounded(t)); err != nil {
				t.Errorf("a Get at the same time: %v", err)
			}
			tx.Cancel()
			wantCode(t, "the read", wait(bounded(t)), kv.CodeTransactionCancelled)
			release() // the read, which was queued, runs without effect
			wantCode(t, "the read", wait(bounded(t)), kv.CodeTransactionCancelled)
		})
	}
}

// occupyReaders lets all goroutines that may read wait, until release is called.
func occupyReaders(t *testing.T, db *Database) (release func()) {
	t.Helper()
	wait := make(waitTask)
	for range reads.MostReaders {
		db.readers.Start(wait)
	}
	awaitReaders(t, db)
	return func() {
		close(wait)
		db.readers.Wait()
	}
}

// awaitReaders returns when as many goroutines read as may.
func awaitReaders(t *testing.T, db *Database) {
	t.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		running, _ := db.readers.Counts()
		if running == reads.MostReaders {
			return
		}
		if running > reads.MostReaders || time.Since(begin) > hang {
			t.Fatalf("%d goroutines read, want %d", running, reads.MostReaders)
		}
	}
}

// waitTask waits until it is closed.
type waitTask chan struct{}

func (w waitTask) Run() { <-w }
