// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// TestAudit audits ledgers of two accounts that are opened with 10 each; each ledger has a fault.
func TestAudit(t *testing.T) {
	first, second := placement.Owner{Name: "p", Incarnation: 1}, placement.Owner{Name: "q", Incarnation: 1}
	opening := []entry{{Account: "a", Amount: 10, Balance: 10}, {Account: "b", Amount: 10, Balance: 10}}
	withdraw := entry{"a", first, 1, 100, -3, 7}
	deposit := entry{"b", second, 1, 100, 3, 13}
	for _, test := range []struct {
		name         string
		entries      []entry
		a, b         int64 // the balances of the records
		acknowledged []idgen.ID
		fault        string
	}{
		{"nothing", nil, 10, 10, nil, ""},
		{"a transfer", []entry{withdraw, deposit}, 7, 13, []idgen.ID{100}, ""},
		{"another owner", []entry{withdraw, deposit, {"a", second, 2, 101, -3, 4}, {"b", second, 1, 101, 3, 16}}, 4, 16, nil, ""},
		{"an epoch that returns", []entry{withdraw, deposit, {"a", second, 2, 101, -3, 4}, {"a", first, 1, 102, -1, 3}}, 3, 13, nil, "p#1 wrote under epoch 1 after q#1 had written under epoch 2"},
		{"two owners of an epoch", []entry{withdraw, {"a", second, 1, 101, -3, 4}}, 4, 10, nil, "both wrote under epoch 1"},
		{"a lost update", []entry{withdraw, deposit, {"a", first, 1, 101, -3, 7}}, 7, 13, nil, "did not know of a change before it"},
		{"withdrawn twice", []entry{withdraw, {"a", first, 1, 100, -3, 4}}, 4, 10, nil, "when 3 had been withdrawn and 0 deposited"},
		{"deposited twice", []entry{withdraw, deposit, {"b", second, 1, 100, 3, 16}}, 7, 16, nil, "when 3 had been withdrawn and 3 deposited"},
		{"deposited first", []entry{deposit}, 10, 13, nil, "when 0 had been withdrawn"},
		{"half a transfer", []entry{withdraw}, 7, 10, nil, "3 were withdrawn and never deposited"},
		{"another record", []entry{withdraw, deposit}, 7, 14, nil, "b: its record says 14"},
		{"another sum", []entry{{"a", first, 1, 100, 5, 15}}, 15, 10, nil, "the accounts have 25, and had 20"},
		{"a lost transfer", nil, 10, 10, []idgen.ID{100}, "was acknowledged, and is not in the ledger"},
	} {
		audit := newAudit()
		for _, e := range append(opening[:2:2], test.entries...) {
			audit.addEntry(e)
		}
		err := audit.compareRecords([]*Account{{Name: "a", Balance: test.a}, {Name: "b", Balance: test.b}}, test.acknowledged, 20)
		switch {
		case test.fault == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
			t.Errorf("%s: %v, want %q", test.name, err, test.fault)
		}
	}
}

// TestLedger appends in several transactions and reads in the order of their commits.
func TestLedger(t *testing.T) {
	ctx, db := t.Context(), enginetest.Open(t)
	l, err := openLedger(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	var want []entry
	for i := range int64(5) {
		pair := []entry{
			{"a", placement.Owner{Name: "p", Incarnation: i}, i, 1 << 60, -i, 1 << 40},
			{"ü", placement.Owner{}, 0, idgen.ID(i), i, -1},
		}
		if err := db.Transact(ctx, func(tx kv.Transaction) error { l.append(tx, pair...); return nil }); err != nil {
			t.Fatal(err)
		}
		want = append(want, pair...)
	}
	for _, page := range []int{1, 3, len(want), 100} {
		var got []entry
		if err := l.each(ctx, db, page, func(e entry) { got = append(got, e) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", page, diff)
		}
	}
}
