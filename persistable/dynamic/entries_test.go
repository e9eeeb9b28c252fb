// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestEntries: the keys of a record, decoded, and one that is missing.
func TestEntries(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "tenants", "tenant-1", "orders")
	id := must[dynamic.ID](t)(s.ParseID("72623859790382857"))
	all := must[[]dynamic.Entry](t)(s.Entries(ctx, id))
	var got []string
	for _, e := range all {
		if e.Value == nil {
			t.Errorf("%v is missing", e.Tuple)
		}
		if e.Kind != "version" {
			got = append(got, fmt.Sprint(e.Index, " ", e.Tuple))
		}
	}
	want := []string{
		` ("R", "Order", 72623859790382857)`,
		`Order_Address.City ("I", "Order_Address.City", "Paris", 72623859790382857)`,
		`Order_Country_Amount ("I", "Order_Country_Amount", "FR", -200, 72623859790382857)`,
		`Order_CreatedAt ("I", "Order_CreatedAt", 0, 1772359200000000005, 72623859790382857)`,
		`Order_Editor ("I", "Order_Editor", nil, 72623859790382857)`,
		`Order_Number_unique ("I", "Order_Number_unique", "A-1002")`,
		`Order_Status_CreatedAt ("I", "Order_Status_CreatedAt", 1, 1772359200000000005, 72623859790382857)`,
		`Order_count ("I", "Order_count")`,
		`Order_count_Status ("I", "Order_count_Status", 1)`,
		`Order_rank_Status_Amount ("I", "Order_rank_Status_Amount", 1, -200, 72623859790382857)`,
		`Order_sum_Amount_Country ("I", "Order_sum_Amount_Country", "FR")`,
		`Order_unshipped ("I", "Order_unshipped", 1772359200000000005, 72623859790382857)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { tx.Clear(all[4].Key); return nil }))
	for i, e := range must[[]dynamic.Entry](t)(s.Entries(ctx, id)) {
		if (e.Value == nil) != (i == 4) {
			t.Errorf("%v: %x", e.Tuple, e.Value)
		}
	}
	if _, err := s.Entries(ctx, must[dynamic.ID](t)(s.ParseID("1"))); !errors.Is(err, persistable.ErrNotFound) {
		t.Error(err)
	}
}

// TestDrop: an index is gone, with its entries and its definition; writes go on.
func TestDrop(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "tenants", "tenant-1", "orders")
	for _, name := range []string{"Order_Number_unique", "Order_rank_Status_Amount", "Order_Tags", "Order_version"} {
		check(t, s.Drop(ctx, name))
		if err := s.Drop(ctx, name); !errors.As(err, new(*persistable.NoIndexError)) {
			t.Errorf("once more: %v", err)
		}
	}
	s = open(t, db, "tenants", "tenant-1", "orders")
	for _, ix := range s.Schema().Indexes {
		if strings.Contains(ix.Name, "Number") || strings.Contains(ix.Name, "rank") || strings.Contains(ix.Name, "Tags") {
			t.Errorf("there is %s", ix.Name)
		}
	}
	check(t, s.Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"A-1001","Tags":["a"]}`)))))
	sound(t, s.Indexes())
	var state *persistable.IndexStateError
	if _, err := bazaar.OrderStoreOf(db, "tenant-1").ByNumber(ctx, "A-1001"); !errors.As(err, &state) {
		t.Errorf("generated code reads the index: %v", err)
	}
	foreign := open(t, db, "settings")
	check(t, foreign.Drop(ctx, "Setting_expiry"))
	check(t, foreign.Create(ctx, must[*dynamic.Record](t)(foreign.ParseRecord([]byte(`{"ID":"x"}`)))))
}
