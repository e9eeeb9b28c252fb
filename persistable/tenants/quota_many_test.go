// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// The records of a batch count one after the other: those that fit are written, and
// the batch stops at the first that does not.
func TestQuotaOfBatches(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		check(t, all.SetQuota(ctx, somewhat(t, db, "a"), tenants.Quota{Records: 6}))
		s := OrderStoreOf(db, "a")
		var more []*Order
		for i := range 20 {
			more = append(more, s.New(Order{Number: fmt.Sprint("more ", i), CreatedAt: day0}))
		}
		for name, put := range map[string]error{
			"CreateMany": s.CreateMany(ctx, more, persistable.BatchOptions{}),
			"SaveMany":   s.SaveMany(ctx, more, persistable.BatchOptions{}),
		} {
			e := wantAs[*persistable.PartialError](t, put)
			if q := wantAs[*persistable.QuotaError](t, put); e.Done != 5 || q.Used != 6 || q.Limit != 6 {
				t.Errorf("%s: %v", name, put)
			}
			wantUsage(t, db, "tenants", "a")
		}
		if n := must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{})); n != 6 {
			t.Errorf("%d records were deleted, want 6", n)
		}
		wantUsage(t, db, "tenants", "a")
		check(t, s.CreateMany(ctx, more[:6], persistable.BatchOptions{}))
		wantUsage(t, db, "tenants", "a")
	})
}

// Update counts what it adds, and is refused beyond the quota, also where several run
// in one transaction.
func TestQuotaOfUpdates(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	orders := someOrders(t, db, "a", 2)
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 10}))
	used := must[tenants.Usage](t)(all.Usage(ctx, "a"))
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Bytes: used.Bytes + 30}))
	s := OrderStoreOf(db, "a")
	lengthen := func(s *OrderStore, id idgen.ID) error {
		return s.Update(ctx, id, func(o *Order) error { o.Number += strings.Repeat("x", 20); return nil })
	}
	check(t, lengthen(s, orders[0].ID))
	wantUsage(t, db, "tenants", "a")
	if e := wantAs[*persistable.QuotaError](t, lengthen(s, orders[1].ID)); e.What != "bytes" || e.Used != used.Bytes+20 {
		t.Errorf("%+v", e)
	}
	check(t, s.Update(ctx, orders[0].ID, func(o *Order) error { o.Number = o.Number[:len(o.Number)-20]; return nil }))
	wantUsage(t, db, "tenants", "a")

	// The second update was read before the first was written.
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Update(ctx, orders[0].ID, func(o *Order) error {
			o.Number += strings.Repeat("x", 20)
			return lengthen(s.In(tx), orders[1].ID)
		})
	})
	wantAs[*persistable.QuotaError](t, err)
	wantUsage(t, db, "tenants", "a")
}
