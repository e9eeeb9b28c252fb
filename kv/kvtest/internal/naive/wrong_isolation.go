// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Faults of isolation, beside those of recorder_test.go. Each embeds a right
// transaction of the naive engine.
type (
	driftingReads  struct{ kv.Transaction } // until it writes, every read sees the newest version
	dirtyWrites    struct{ kv.Transaction } // Set takes effect at once
	quietSelectors struct{ kv.Transaction } // GetKey adds a conflict for the found key only
)

func (w driftingReads) Get(key []byte) kv.Future[[]byte] {
	_ = w.AddReadConflictKey(key) // only readers see the fault
	tx := w.Transaction.(*naiveTx)
	tx.db.mu.Lock()
	writing := len(tx.writes) > 0
	tx.db.mu.Unlock()
	if writing {
		return tx.Get(key)
	}
	newest, err := tx.db.Begin()
	if err != nil {
		return kv.Resolved([]byte(nil), err)
	}
	return newest.Get(key)
}

func (w dirtyWrites) Set(key, value []byte) {
	_ = w.Transaction.(*naiveTx).db.Transact(context.Background(), func(tx kv.Transaction) error {
		defer tx.Set(key, value)
		return tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0) // or it would conflict with itself
	})
	w.Transaction.Set(key, value)
}

func (w quietSelectors) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	key, err := w.Snapshot().GetKey(sel).Get(context.Background())
	if err == nil && string(key) < "\xff" {
		_ = w.AddReadConflictKey(key)
	}
	return kv.Resolved(key, err)
}

// staleReads lets transactions read the version that was the newest when the
// one before them began.
func staleReads() func(kv.Transaction) kv.Transaction {
	earlier := new(atomic.Int64)
	return func(tx kv.Transaction) kv.Transaction {
		db := tx.(*naiveTx).db
		db.mu.Lock()
		newest := db.last().number
		db.mu.Unlock()
		if version := earlier.Swap(newest); version != 0 {
			tx.SetReadVersion(version)
		}
		return tx
	}
}
