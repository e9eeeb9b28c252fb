// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestGetOrCreateWhoseOwnerChanges lets another write of the transaction remove the
// record that has the unique value, or give it another value, after GetOrCreate has
// found its id: GetOrCreate creates its own.
func TestGetOrCreateWhoseOwnerChanges(t *testing.T) {
	for name, change := range map[string]func(s *OrderStore) error{
		"removed": func(s *OrderStore) error { return s.Delete(ctx, 1) },
		"another value": func(s *OrderStore) error {
			return s.Update(ctx, 1, func(o *Order) error { o.Number = "moved"; return nil })
		},
		"another owner": func(s *OrderStore) error {
			if err := s.Delete(ctx, 1); err != nil {
				return err
			}
			return s.CreateWithID(ctx, 3, &Order{TenantID: "t", Number: "1", CreatedAt: day0})
		},
	} {
		engine := &faulty{Database: enginetest.Open(t)}
		db := open(t, engine)
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			bound, changed := s.In(tx), false
			must[*Order](t)(bound.Get(ctx, 1)) // opens the store
			engine.begin(func(n int) error {
				if n == 3 { // behind the reads of the id and of the number
					engine.begin(nil, nil)
					changed = true
					check(t, change(bound))
				}
				return nil
			}, nil)
			o, created, err := bound.GetOrCreate(ctx, &Order{ID: 2, TenantID: "t", Number: "1", CreatedAt: day0})
			wantID, wantCreated := int64(2), true
			if name == "another owner" {
				wantID, wantCreated = 3, false
			}
			if err != nil || int64(o.ID) != wantID || o.Number != "1" || created != wantCreated || !changed {
				t.Errorf("%s: %+v, created: %t, %v", name, o, created, err)
			}
			return err
		}))
		sound(t, s.Indexes().Verify)
	}
}
