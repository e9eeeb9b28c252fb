// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestPagesInBothDirections: pages of all kinds of queries forward and back, and at each record.
func TestPagesInBothDirections(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	queries := map[string]*persistable.Query[*dynamic.Record]{
		"by id": s.Scan(), "by an index": must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex("Order_Country_Amount")),
	}
	for _, where := range []string{`Country = "FR"`, `Country in ("FR", "IT", "DE")`, `Number prefix "A-100"`, `Country = "FR" and Status = 1`, `Amount > 500 or Editor != null`, `Tags = "batch-1" or Status = 2`} {
		c := must[persistable.Condition[*dynamic.Record]](t)(s.Where(where))
		queries[where] = must[*persistable.Query[*dynamic.Record]](t)(s.AllowScan().Find(c))
	}
	for name, q := range queries {
		all := must[[]*dynamic.Record](t)(q.Slice(ctx))
		if len(all) < 2 {
			t.Fatalf("%s: %d records", name, len(all))
		}
		checkPages(t, name, q.Limit(2), ids(all))
		slices.Reverse(all)
		checkPages(t, name+" in reverse", q.Reverse().Limit(2), ids(all))
		for i, r := range all {
			after := must[persistable.Page[*dynamic.Record]](t)(persistable.PageAfter(ctx, q.Reverse().Limit(2), r))
			before := must[persistable.Page[*dynamic.Record]](t)(persistable.PageBefore(ctx, q.Reverse().Limit(2), r))
			if got, want := ids(after.Records), ids(all[i+1:min(i+3, len(all))]); !slices.Equal(got, want) {
				t.Errorf("%s: after record %d: %v, want %v", name, i, got, want)
			}
			if got, want := ids(before.Records), ids(all[max(i-2, 0):i]); !slices.Equal(got, want) {
				t.Errorf("%s: before record %d: %v, want %v", name, i, got, want)
			}
		}
	}
}

// checkPages goes forward through all pages, and back again.
func checkPages(t *testing.T, name string, q *persistable.Query[*dynamic.Record], want []string) {
	t.Helper()
	read := func(token string) persistable.Page[*dynamic.Record] {
		return must[persistable.Page[*dynamic.Record]](t)(q.Page(ctx, token))
	}
	page := read("")
	forward := ids(page.Records)
	for page.Next != "" {
		page = read(page.Next)
		forward = append(forward, ids(page.Records)...)
	}
	back := ids(page.Records)
	for page.Previous != "" {
		page = read(page.Previous)
		back = append(ids(page.Records), back...)
	}
	if !slices.Equal(forward, want) || !slices.Equal(back, want) {
		t.Errorf("%s: %v forward, %v back, want %v", name, forward, back, want)
	}
}

func ids(all []*dynamic.Record) (texts []string) {
	for _, r := range all {
		texts = append(texts, r.ID().String())
	}
	return texts
}
