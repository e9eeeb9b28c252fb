// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// TestLoneReadNeedsNoReader gives no goroutine to reads: the goroutine that waits for the only
// read of its transaction makes that read, if nothing can end its wait.
func TestLoneReadNeedsNoReader(t *testing.T) {
	db, _ := openCold(t)
	db.readers.Wait()
	release := occupyReaders(db)
	defer release()
	tx := begin(t, db)
	if value, err := tx.Get(coldKey(1)).Get(context.Background()); err != nil || len(value) != 1000 {
		t.Errorf("Get: %d bytes, %v", len(value), err)
	}
	pairs, err := readPairs(tx, kv.KeyRange{Begin: coldKey(10), End: coldKey(20)}, kv.RangeOptions{})
	if err != nil || len(pairs) != 10 {
		t.Errorf("GetRange: %d pairs, %v; want 10", len(pairs), err)
	}
	tx.Cancel()
	if _, queued := db.readers.Counts(); queued != 0 {
		t.Errorf("%d reads wait for a goroutine", queued)
	}
}

// TestLoneReadEnds ends the wait for the only read of a transaction while the disk hangs.
func TestLoneReadEnds(t *testing.T) {
	ended := errors.New("the context has ended")
	timeout := func(o *Options) { o.Transactions.Timeout = time.Millisecond }
	for name, c := range map[string]struct {
		change func(*Options)
		begin  func(kv.Transaction) error
		ctx    func(*coldDisk) context.Context
		want   error
	}{
		"a context that ends": {ctx: func(disk *coldDisk) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { disk.await(t, 1); cancel(ended) }()
			return ctx
		}, want: ended},
		"a timeout":           {begin: func(tx kv.Transaction) error { return tx.SetOption(kv.OptionTimeout, 1) }, want: &kv.Error{Code: kv.CodeTransactionTimedOut}},
		"the default timeout": {change: timeout, want: &kv.Error{Code: kv.CodeTransactionTimedOut}},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			if c.change != nil {
				c.change(&db.disk.options)
				db.client = ryw.NewClient(&engine{db}, db.disk.options.Transactions)
			}
			disk.block(true)
			defer disk.block(false)
			tx := begin(t, db)
			defer tx.Cancel()
			if c.begin != nil {
				if err := c.begin(tx); err != nil {
					t.Fatal(err)
				}
			}
			ctx := context.Background()
			if c.ctx != nil {
				ctx = c.ctx(disk)
			}
			within(t, "Get", func() {
				if value, err := tx.Get(coldKey(5)).Get(ctx); !errors.Is(err, c.want) {
					t.Errorf("%d bytes, %v; want %v", len(value), err, c.want)
				}
			})
		})
	}
}

// TestTimeoutEndsCommit lets a commit hang: a timeout of the transaction, or the
// database's default, ends the wait for it. The commit goes on.
func TestTimeoutEndsCommit(t *testing.T) {
	const timeout = 200 * time.Millisecond
	for name, d := range map[string]kv.TransactionDefaults{"option": {}, "default": {Timeout: timeout}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openTest(t, Options{FS: vfs.NewMem(), Transactions: d})
				defer closeTest(t, db)
				resume := db.committer.PauseDisk()
				began := time.Now()
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					tx.Set([]byte("key"), []byte("value"))
					if d.Timeout > 0 {
						return nil
					}
					return tx.SetOption(kv.OptionTimeout, timeout.Milliseconds())
				})
				if took := time.Since(began); kv.CodeOf(err) != kv.CodeTransactionTimedOut || !errors.Is(err, kv.ErrOutcomeUnknown) || took != timeout {
					t.Errorf("after %v: %v; want code %d and an unknown outcome after %v", took, err, kv.CodeTransactionTimedOut, timeout)
				}
				resume()
				synctest.Wait()
				if got := valueOf(t, db, []byte("key")); got != "value" {
					t.Errorf("the commit that went on has left %q", got)
				}
			})
		})
	}
}

// TestHeldReadStarts begins a read, which is held back, and then does something
// that must start it, while the disk hangs.
func TestHeldReadStarts(t *testing.T) {
	for name, start := range map[string]struct {
		do    func(tx kv.Transaction, f kv.Future[[]byte])
		reads int
	}{
		"asking for Done":   {func(_ kv.Transaction, f kv.Future[[]byte]) { f.Done() }, 1},
		"asking for Ready":  {func(_ kv.Transaction, f kv.Future[[]byte]) { f.Ready() }, 1},
		"another read":      {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.Get(coldKey(500)) }, 2},
		"a commit":          {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.CommitAsync() }, 1},
		"a watch, a commit": {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.Watch(coldKey(900)); tx.CommitAsync() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			tx := begin(t, db)
			disk.block(true)
			f := tx.Get(coldKey(5))
			start.do(tx, f)
			disk.await(t, start.reads)
			disk.block(false)
			if value, err := f.Get(bounded(t)); err != nil || len(value) != 1000 {
				t.Errorf("%d bytes, %v", len(value), err)
			}
			tx.Cancel()
		})
	}
}

// TestHeldReadIsGivenUp cancels a transaction whose only read was not started.
func TestHeldReadIsGivenUp(t *testing.T) {
	db, disk := openCold(t)
	disk.block(true)
	defer disk.block(false)
	tx := begin(t, db)
	f := tx.Get(coldKey(5))
	tx.Cancel()
	_, err := f.Get(bounded(t))
	wantCode(t, "the read", err, kv.CodeTransactionCancelled)
}
