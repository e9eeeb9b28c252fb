// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestLockInterrupted: a Lock leaves no lock if its context ends during its commit, after the
// commit has landed or before.
func TestLockInterrupted(t *testing.T) {
	for name, lands := range map[string]bool{"committed": true, "commits later": false} {
		t.Run(name, func(t *testing.T) {
			engine := &enginetest.Lossy{Database: enginetest.Open(t)}
			db := open(t, engine)
			someOrders(t, db, "a", 1)
			limited, cancel := context.WithCancel(ctx)
			defer cancel()
			var land func() error
			if lands {
				engine.Lose(false, func() error { cancel(); return nil })
			} else {
				land = engine.Interrupt(cancel)
			}
			all := tenants.Of(db, "tenants")
			wantError(t, second(all.Lock(limited, "a", "export")), context.Canceled)
			if !lands {
				if err := land(); !kv.IsConflict(err) {
					t.Errorf("the late commit: %v, want a conflict", err)
				}
			}
			if l, locked, err := all.LockOf(ctx, "a"); locked || err != nil {
				t.Errorf("the tenant has the lock %+v, %v", l, err)
			}
			check(t, all.Unlock(ctx, must[tenants.Lock](t)(all.Lock(ctx, "a", "again"))))
		})
	}
}
