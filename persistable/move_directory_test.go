// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

func anyDirectory(kv.ReadTransaction, *directory.Directory) error { return nil }

// TestMoveDirectoryIf: what the condition allows is moved, with its records.
func TestMoveDirectoryIf(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		someOrders(t, OrderStoreOf(db, "t"), 3)
		from, to := []string{"tenants", "t"}, []string{"tenants", "u"}
		refused := errors.New("refused")
		wantError(t, db.MoveDirectoryIf(ctx, from, to, func(kv.ReadTransaction, *directory.Directory) error { return refused }), refused)
		check(t, db.MoveDirectoryIf(ctx, from, to, anyDirectory))
		for tenant, want := range map[string]int{"t": 0, "u": 3} {
			if n := must[int](t)(OrderStoreOf(db, tenant).Scan().Count(ctx)); n != want {
				t.Errorf("%s has %d records, want %d", tenant, n, want)
			}
		}
		wantError(t, db.MoveDirectoryIf(ctx, from, to, anyDirectory), directory.ErrNotFound)
		for _, path := range [][2][]string{{{"kazahana"}, {"k"}}, {{"tenants", "u"}, {"kazahana", "u"}}} {
			wantAs[*persistable.DirectoryError](t, db.MoveDirectoryIf(ctx, path[0], path[1], anyDirectory))
		}
	})
}

// TestMoveByAReader: a DB that only reads moves nothing, also on an engine that writes.
func TestMoveByAReader(t *testing.T) {
	engine := enginetest.Open(t)
	someOrders(t, OrderStoreOf(open(t, engine), "t"), 1)
	db := openWith(t, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
	wantError(t, db.MoveDirectoryIf(ctx, []string{"tenants", "t"}, []string{"tenants", "u"}, anyDirectory), persistable.ErrReadOnly)
}
