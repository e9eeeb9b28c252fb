// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

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

// The checks of random histories, and the faults that each must find.
var historyChecks = []struct {
	name  string
	check func(testing.TB, kv.Database, LoadOptions)
	finds []string
}{
	{"serializable", CheckSerializable, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads"}},
	{"commit order", CheckCommitOrder, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads", "cleared ranges stay"}},
}

var isolationFaults = map[string]func() func(kv.Transaction) kv.Transaction{
	"no read conflicts":     always(func(tx kv.Transaction) kv.Transaction { return noReadConflict{tx} }),
	"no phantoms":           always(func(tx kv.Transaction) kv.Transaction { return noPhantom{tx} }),
	"no selector conflicts": always(func(tx kv.Transaction) kv.Transaction { return quietSelectors{tx} }),
	"drifting reads":        always(func(tx kv.Transaction) kv.Transaction { return driftingReads{tx} }),
	"dirty writes":          always(func(tx kv.Transaction) kv.Transaction { return dirtyWrites{tx} }),
	"cleared ranges stay":   always(func(tx kv.Transaction) kv.Transaction { return forgetfulClear{tx} }),
	"stale reads":           staleReads,
}

func always(spoil func(kv.Transaction) kv.Transaction) func() func(kv.Transaction) kv.Transaction {
	return func() func(kv.Transaction) kv.Transaction { return spoil }
}

// Each check finds each fault of its list in some of many runs, whose seeds are
// the same every time.
func TestHistoryChecksFindWrongEngines(t *testing.T) {
	for _, c := range historyChecks {
		for _, fault := range c.finds {
			t.Run(c.name+"/"+strings.ReplaceAll(fault, " ", "-"), func(t *testing.T) {
				for seed := range uint64(100) {
					failures := record(t, func(tb testing.TB) {
						db := wrongDB{openMemory(tb), isolationFaults[fault]()}
						c.check(tb, db, LoadOptions{Seed: seed, Goroutines: 8, Transactions: 40})
					})
					if len(failures) > 0 {
						t.Logf("run %d: %s", seed, failures[0])
						return
					}
				}
				t.Error("a hundred runs found nothing")
			})
		}
	}
}

func TestEveryIsolationFaultIsFound(t *testing.T) {
	for fault := range isolationFaults {
		if !slices.Contains(historyChecks[1].finds, fault) {
			t.Errorf("nobody must find %q", fault)
		}
	}
}
