// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
)

// TestDeleted: a store without the Go code deletes, reads and restores records as that of the program does, by a
// time and by a pointer.
func TestDeleted(t *testing.T) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	t.Cleanup(func() { db.Close() })
	orders, customers := deleted.OrderStoreOf(db), deleted.CustomerStoreOf(db)
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A", City: "Oulu", Amount: 5, Text: "red"}))
	check(t, customers.Create(ctx, &deleted.Customer{ID: 1, Name: "Ada"}))

	for _, of := range []struct {
		path, index string
		restore     string
		get         func() (at time.Time, err error)
	}{
		{"Order", "Order_Number_where_DeletedAt_unique", `{"ID":1,"Number":"A","City":"Oulu"}`, func() (time.Time, error) {
			o, err := orders.WithDeleted().Get(ctx, 1)
			if err != nil {
				return time.Time{}, err
			}
			return o.DeletedAt, nil
		}},
		{"Customer", "Customer_Name_where_DeletedAt_unique", `{"ID":1,"Name":"Ada"}`, func() (time.Time, error) {
			c, err := customers.WithDeleted().Get(ctx, 1)
			if err != nil || c.DeletedAt == nil {
				return time.Time{}, err
			}
			return *c.DeletedAt, err
		}},
	} {
		tool := open(t, db, of.path)
		all := tool.WithDeleted()
		id := must[dynamic.ID](t)(tool.ParseID("1"))
		was := must[*dynamic.Record](t)(tool.Get(ctx, id))
		check(t, tool.DeleteIfUnchanged(ctx, was))
		if at := must[time.Time](t)(of.get()); time.Since(at) > time.Hour {
			t.Errorf("%s was deleted at %v", of.path, at)
		}
		_, err := tool.Get(ctx, id)
		if !errors.Is(err, persistable.ErrNotFound) {
			t.Error(err)
		}
		if r := must[*dynamic.Record](t)(all.Get(ctx, id)); !all.IsDeleted(r) || tool.IsDeleted(was) {
			t.Errorf("IsDeleted is wrong of the %s", of.path)
		}
		q := must[*persistable.Query[*dynamic.Record]](t)(tool.ByIndex(of.index))
		if n := must[int](t)(q.Count(ctx)); n != 0 {
			t.Errorf("%s has %d entries", of.index, n)
		}
		restored := must[*dynamic.Record](t)(tool.ParseRecord([]byte(of.restore)))
		if err := tool.Save(ctx, restored); !errors.Is(err, persistable.ErrDeleted) {
			t.Error(err)
		}
		check(t, all.Save(ctx, restored))
		if at := must[time.Time](t)(of.get()); !at.IsZero() {
			t.Errorf("%s is deleted at %v", of.path, at)
		}
		if n := must[int](t)(q.Count(ctx)); n != 1 {
			t.Errorf("%s has %d entries", of.index, n)
		}
		again := must[*dynamic.Store](t)(all.Reopen(ctx, db))
		check(t, tool.Delete(ctx, id))
		check(t, again.Delete(ctx, id))
		if found := must[bool](t)(all.Exists(ctx, id)); found {
			t.Error("it was not removed for good")
		}
		if report := must[persistable.Report](t)(tool.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
			t.Error(report.Faults)
		}
	}
}
