// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestVerifyCounts: Verify finds counts and sums that are wrong, missing, or left over, and
// none while writers change them.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := kindStore(db, 0, countBySection, sumBySection)
		for i := range 20 {
			check(t, s.Create(ctx, smallArticle(i)))
		}
		var group sync.WaitGroup
		group.Go(func() { writeAtRandom(t, rand.New(rand.NewPCG(1, 2)), db, s, 15) })
		for range 5 {
			sound(t, s.Indexes().Verify)
		}
		group.Wait()
		sound(t, s.Indexes().Verify)
		for name, change := range map[string]func(tx kv.Transaction, key []byte){
			"wrong":     func(tx kv.Transaction, key []byte) { tx.Atomic(kv.Add, key, []byte{1}) },
			"missing":   func(tx kv.Transaction, key []byte) { tx.Clear(key) },
			"left over": func(tx kv.Transaction, key []byte) { tx.Set(append(key, 0x00), index.AppendCount(nil, 1)) },
		} {
			all := dump(t, db)
			check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				for key := range all {
					if strings.Contains(key, countBySection.Name+"\x00\x02s1") && strings.Contains(key, "\x02I\x00") {
						change(tx, []byte(key))
					}
				}
				return nil
			}))
			if r := must[persistable.Report](t)(s.Indexes().Verify(ctx)); len(r.Faults) != 1 || r.Faults[0].Index != countBySection.Name {
				t.Errorf("%s: %v", name, r.Faults)
			}
			check(t, s.Indexes().Rebuild(ctx, countBySection.Name))
			sound(t, s.Indexes().Verify)
		}
	})
}
