// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/record"
)

// The checks of random histories, and the faults that each must find.
var historyChecks = []struct {
	name  string
	check func(testing.TB, kv.Database, LoadOptions)
	finds []string
}{
	{"serializable", CheckSerializable, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads"}},
	{"commit order", CheckCommitOrder, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads", "cleared ranges stay"}},
}

// Each check finds each fault of its list in some of many runs, whose seeds are
// the same every time.
func TestHistoryChecksFindWrongEngines(t *testing.T) {
	for _, c := range historyChecks {
		for _, fault := range c.finds {
			t.Run(c.name+"/"+strings.ReplaceAll(fault, " ", "-"), func(t *testing.T) {
				for seed := range uint64(100) {
					failures := record.Failures(t, func(tb testing.TB) {
						c.check(tb, naive.OpenFaulty(tb, fault), LoadOptions{Seed: seed, Goroutines: 8, Transactions: 40})
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
