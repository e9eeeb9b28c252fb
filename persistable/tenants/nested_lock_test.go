// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// A tenant in which another one is locked is neither moved nor deleted: the inner one would
// change while it is locked.
func TestNestedLock(t *testing.T) {
	db := open(t, enginetest.Open(t))
	outer, inner := tenants.Of(db, "tenants"), tenants.Of(db, "tenants", "a", "projects")
	programKeys(t, db, "tenants", "a", "projects", "p")
	lock := must[tenants.Lock](t)(inner.Lock(ctx, "p", "export"))
	for verb, err := range map[string]error{"Move": outer.Move(ctx, "a", "b"), "Delete": outer.Delete(ctx, "a")} {
		if e := wantAs[*persistable.LockedError](t, err); len(e.Path) != 4 || e.Reason != "export" {
			t.Errorf("%s: %+v", verb, e)
		}
	}
	check(t, inner.Unlock(ctx, lock))
	check(t, outer.Move(ctx, "a", "b"))
	check(t, outer.Delete(ctx, "b"))
}
