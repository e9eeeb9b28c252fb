// SPDX-License-Identifier: Apache-2.0

//go:build unix

package persistable_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// TestRecountAfterKill kills a process that repairs damaged counts and sums by recounts,
// at each stage. This process writes, and its repair goes on with what it finds.
func TestRecountAfterKill(t *testing.T) {
	random := seed.Rand(t)
	for _, stage := range build.RecountStages {
		t.Run(string(stage), func(t *testing.T) {
			engine := enginetest.Open(t)
			db := openWith(t, engine, persistable.Options{BuildBatch: 4})
			s := kindStore(db, 0, allKinds...)
			for i := range 30 {
				check(t, s.Create(ctx, smallArticle(i)))
			}
			for damageTotals(t, random, db) == 0 {
			}
			runToDeath(t, engine, fmt.Sprintf("%s %s 0 repair", serveEngine(t, engine), stage))
			for i := range 6 {
				check(t, s.Delete(ctx, smallArticle(4*i).ID))
				check(t, s.Save(ctx, smallArticle(4*i+101)))
			}
			o := repairTotals
			o.Build.Lease = 100 * time.Millisecond
			must[persistable.Report](t)(verifyWith(s, o)(ctx))
			checkCounts(t, db, s, allKinds...)
			sound(t, verifyWith(s, recount))
			checkNoRecounts(t, db)
		})
	}
}
