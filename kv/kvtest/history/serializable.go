// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// LoadOptions describe the random load of [CheckSerializable] and
// [CheckCommitOrder].
type LoadOptions struct {
	Seed         uint64 // fixes what the transactions do
	Goroutines   int    // how many run at once; 0 means 8
	Transactions int    // of each goroutine; 0 means 50
	Keys         int    // in use at a time: fewer mean more conflicts; 0 means 5
}

// CheckSerializable runs random transactions against db, each of several point
// reads, range reads (whole, limited, backward), selectors, read-modify-writes
// and blind appends, and fails t if what they saw and wrote contradicts every
// order of them that respects time: it is strict serializability, found by
// cycles among the transactions, which it names as Adya does (G0, G1a to G1c,
// G-single, G2). It takes nothing that the engine says of itself for granted;
// see [CheckCommitOrder] for a check that does, and finds more.
//
// It replaces the contents below \xff. Attempts whose outcome is unknown may
// have happened or not, so it works on a database of faults.Hostile as well.
func CheckSerializable(t testing.TB, db kv.Database, o LoadOptions) {
	t.Helper()
	load := &listLoad{
		clients: clients{ctx: context.Background(), db: db, seed: o.Seed},
		keys:    cmp.Or(o.Keys, 5), count: cmp.Or(o.Transactions, 50),
	}
	attempts, err := load.run(cmp.Or(o.Goroutines, 8))
	if err != nil {
		t.Fatalf("seed %d: the load cannot run: %v", o.Seed, err)
	}
	report(t, o.Seed, len(attempts), "not strictly serializable", analyse(attempts))
}

// report fails t with the first faults.
func report(t testing.TB, seed uint64, attempts int, what string, faults []string) {
	t.Helper()
	for i, fault := range faults {
		if i == 10 {
			t.Errorf("…and %d more", len(faults)-i)
			break
		}
		t.Errorf("seed %d, %d attempts, %s: %s", seed, attempts, what, fault)
	}
}
