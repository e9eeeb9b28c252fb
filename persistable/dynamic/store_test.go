// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestStores: all stores of the database, and those below a path.
func TestStores(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct{ path, want []string }{
		{nil, []string{
			`"counters" of Counter`, `"events" of Event`, `"settings" of Setting`,
			`"tenants/tenant-1/accounts" of Account`, `"tenants/tenant-1/orders" of Order`,
			`"tenants/tenant-2/accounts" of Account`, `"tenants/tenant-2/orders" of Order`,
			`"tenants/tenant-3/accounts" of Account`, `"tenants/tenant-3/orders" of Order`,
		}},
		{[]string{"tenants", "tenant-2"}, []string{`"tenants/tenant-2/accounts" of Account`, `"tenants/tenant-2/orders" of Order`}},
		{[]string{"events"}, []string{`"events" of Event`}},
	} {
		var got []string
		for at, err := range dynamic.Stores(ctx, db, c.path...) {
			check(t, err)
			got = append(got, at.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("below %v (-want +got):\n%s", c.path, diff)
		}
	}
	for _, err := range dynamic.Stores(ctx, db, "nowhere") {
		if !errors.Is(err, persistable.ErrNotFound) {
			t.Error(err)
		}
	}
	for range dynamic.Stores(ctx, db) {
		break // the walk ends with the loop
	}
}

// TestGet: a record by its id, as JSON.
func TestGet(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	id := must[dynamic.ID](t)(s.ParseID("72623859790382859"))
	r := must[*dynamic.Record](t)(s.Get(ctx, id))
	if r.ID() != id || r.ID().String() != "72623859790382859" || r.Version().IsZero() {
		t.Errorf("id %v, version %v", r.ID(), r.Version())
	}
	const want = `{"ID":"72623859790382859","TenantID":"tenant-1","Number":"A-1004","Status":0,"Country":"DE","CreatedAt":"2026-03-01T12:00:00.000000005Z",` +
		`"Amount":600,"Units":3,"Editor":"grace","Tags":["new","batch-0"],"Address":{"Street":"Domkloster 4","City":"","Zip":"50667"},` +
		`"Billing":{"Street":"Rue \"Lepic\" 12","City":"Paris","Zip":null},` +
		`"Lines":[{"Product":"tea","Quantity":2,"Price":450},{"Product":"cup","Quantity":3,"Price":1250}],"Notes":{"door":"left\nof the gate","gift":"yes"},` +
		`"PaidAt":"2026-03-01T12:01:00.000000005Z","Took":"1m30s","Rate":0.375,"Hash":"yv4AAw==","Photo":"AAEC/w==","Key":"019ca8a0-3ee7-0000-0000-000000000067","Done":true}`
	if got := must[[]byte](t)(json.Marshal(r)); string(got) != want {
		t.Errorf("the record is\n%s\nwant\n%s", got, want)
	}
	if _, err := s.Get(ctx, must[dynamic.ID](t)(s.ParseID("1"))); !errors.Is(err, persistable.ErrNotFound) {
		t.Error(err)
	}
}

// TestScan: all records of a store, in the order of their ids, page by page too.
func TestScan(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	all := must[[]*dynamic.Record](t)(s.Scan().Slice(ctx))
	var paged []*dynamic.Record
	for token, more := "", true; more; more = token != "" {
		p := must[persistable.Page[*dynamic.Record]](t)(s.Scan().Limit(7).Page(ctx, token))
		paged, token = append(paged, p.Records...), p.Next
	}
	same := func(a, b *dynamic.Record) bool { return a.ID() == b.ID() }
	if len(all) != 24 || !slices.EqualFunc(all, paged, same) {
		t.Errorf("%d records, and %d in pages", len(all), len(paged))
	}
}

// TestOpenRefuses: what is not there, or not named, is an error that says what is.
func TestOpenRefuses(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct {
		path []string
		typ  string
	}{{[]string{"nowhere"}, ""}, {[]string{"events"}, "Order"}, {[]string{"tenants"}, ""}, {[]string{"tenants", "tenant-1"}, ""}} {
		if _, err := dynamic.Open(ctx, db, c.path, c.typ); !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("%v: %v", c.path, err)
		}
	}
}
