// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// startBatch starts a batch that is held back.
func startBatch(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
	f.Ready()
	return f
}

// TestLateReadsConflict begins reads, and writes over their keys in the same
// transaction while the disk holds them up: what they have read from the database
// conflicts all the same.
func TestLateReadsConflict(t *testing.T) {
	from, to := coldKey(490), coldKey(520)
	everything := kv.KeyRange{Begin: from, End: to}
	reads := map[string]func(tx kv.Transaction) func() error{
		"get": func(tx kv.Transaction) func() error {
			f := tx.Get(coldKey(500))
			f.Ready() // or it is held back
			return func() error { _, err := f.Get(bounded(t)); return err }
		},
		"key": func(tx kv.Transaction) func() error {
			f := tx.GetKey(kv.KeySelector{Key: from, Offset: 30})
			f.Ready()
			return func() error { _, err := f.Get(bounded(t)); return err }
		},
		"range": func(tx kv.Transaction) func() error {
			r := tx.GetRange(everything.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Wrap(startBatch)
			return func() error { _, err := r.Slice(bounded(t)); return err }
		},
	}
	writes := map[string]func(tx kv.Transaction){
		"set":   func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("own")) },
		"clear": func(tx kv.Transaction) { tx.ClearRange(everything) },
	}
	for read, start := range reads {
		for write, do := range writes {
			t.Run(read+", "+write, func(t *testing.T) {
				db, disk := openCold(t)
				disk.block(true)
				tx := begin(t, db)
				await := start(tx)
				disk.await(t, 1)
				do(tx)
				transact(t, db, func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("others")) })
				disk.block(false)
				if err := await(); err != nil {
					t.Fatal(err)
				}
				wantCode(t, "the commit", tx.Commit(bounded(t)), kv.CodeNotCommitted)
			})
		}
	}
}
