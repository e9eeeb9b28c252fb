// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// TestLoneReadNeedsNoReader gives no goroutine to reads: the goroutine that waits
// for the only read of its transaction makes that read.
func TestLoneReadNeedsNoReader(t *testing.T) {
	db, _ := openCold(t)
	db.readers.Wait()
	release := occupyReaders(db)
	defer release()
	tx := begin(t, db)
	if value, err := tx.Get(coldKey(1)).Get(bounded(t)); err != nil || len(value) != 1000 {
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
