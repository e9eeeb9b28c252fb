// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestBudgetsOfKinds pins what the kinds cost: an index of a kind adds no round to a
// write, and a read of a group is one key.
func TestBudgetsOfKinds(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	all := SaleStoreOf(db)
	check(t, all.Create(ctx, &Sale{ID: "1", Country: "a", Tags: []string{"a", "b", "a"}, Amount: 1, Units: 1, CreatedAt: day0, Discount: ptr(int64(1)), Code: ptr("c")}))
	must[*Sale](t)(all.Get(ctx, "1")) // opens it
	budgets := []struct {
		name string
		want [5]int // rounds, gets, ranges, writes, commits
		run  func() error
	}{
		{"Count", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.CountAll(ctx)) }},
		{"Count of a group", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.CountByTags(ctx, "a")) }},
		{"Sum", [5]int{1, 1, 0, 0, 0}, func() error { return second(all.SumAmountByStatus(ctx, Pending)) }},
		{"Counts", [5]int{1, 0, 1, 0, 0}, func() error { return drain(all.CountsByTags(ctx)) }},
		{"Sums", [5]int{1, 0, 1, 0, 0}, func() error { return drain(all.SumsUnitsByTags(ctx)) }},
		{"Min", [5]int{1, 0, 1, 0, 0}, func() error { return third(all.MinAmountByCountry(ctx, "a")) }},
		{"Max, descending", [5]int{1, 0, 1, 0, 0}, func() error { return third(all.MaxCreatedAtByStatus(ctx, Pending)) }},
		{"Min, 4 shards", [5]int{1, 0, 4, 0, 0}, func() error { return third(all.MinDiscount(ctx)) }},
		{"rows", [5]int{1, 0, 1, 0, 0}, func() error { return second(all.ByCountryAmountRows("a").Slice(ctx)) }},
		{"records of entries with copies", [5]int{2, 1, 1, 0, 0}, func() error { return second(all.ByCountryAmount("a").Slice(ctx)) }},
		{"unique with copies", [5]int{2, 2, 0, 0, 0}, func() error { return second(all.ByCode(ctx, "c")) }},
	}
	for _, c := range budgets {
		t.Run(c.name, func(t *testing.T) { checkBudget(t, counter, c.want, c.run) })
	}
	for name, c := range map[string]struct {
		indexes []int
		was, is *Sale
		want    int // writes, that of the record among them
	}{
		"a new one of a group":                {[]int{1}, nil, &Sale{ID: "x"}, 2},
		"a new one of two groups":             {[]int{2}, nil, &Sale{ID: "x", Tags: []string{"a", "b", "a"}}, 3},
		"another group":                       {[]int{1}, &Sale{ID: "x"}, &Sale{ID: "x", Country: "a"}, 4},
		"the same group":                      {[]int{1, 2}, &Sale{ID: "x", Tags: []string{"a"}}, &Sale{ID: "x", Tags: []string{"a", "a"}}, 1},
		"the last of a group goes":            {[]int{1}, &Sale{ID: "x"}, nil, 3},
		"an amount":                           {[]int{4}, nil, &Sale{ID: "x", Amount: 1}, 3},
		"an amount of 0":                      {[]int{4}, nil, &Sale{ID: "x"}, 1},
		"the same amount":                     {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 1, Country: "a"}, 1},
		"another amount":                      {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 5}, 3},
		"another group of an amount":          {[]int{4}, &Sale{ID: "x", Amount: 1}, &Sale{ID: "x", Amount: 1, Status: Paid}, 5},
		"not in the partial index":            {[]int{9, 11}, nil, &Sale{ID: "x", Status: Paid}, 1},
		"into the partial index":              {[]int{9}, &Sale{ID: "x", Status: Paid}, &Sale{ID: "x", Status: Paid, Amount: 1}, 2},
		"out of the partial index":            {[]int{9}, &Sale{ID: "x", Status: Paid, Amount: 1}, &Sale{ID: "x", Amount: 1}, 2},
		"within the partial index":            {[]int{9}, &Sale{ID: "x", Status: Paid, Amount: 1}, &Sale{ID: "x", Status: Paid, Amount: 2}, 1},
		"a field that is copied":              {[]int{8}, &Sale{ID: "x", Units: 1}, &Sale{ID: "x", Units: 2}, 2},
		"a field that is not":                 {[]int{8}, &Sale{ID: "x", Units: 1}, &Sale{ID: "x", Units: 1, Status: Paid}, 1},
		"a field that a unique entry copies":  {[]int{10}, &Sale{ID: "x", Code: ptr("c"), Amount: 1}, &Sale{ID: "x", Code: ptr("c"), Amount: 2}, 2},
		"a unique entry that copies, removed": {[]int{10}, &Sale{ID: "x", Code: ptr("c"), Amount: 1}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := salesWith(open(t, counter), c.indexes...)
			check(t, db.RemoveDirectory(ctx, "sales"))
			check(t, s.Save(ctx, &Sale{ID: "another", Status: Shipped}))
			must[*Sale](t)(s.Get(ctx, "another")) // opens it
			if c.was != nil {
				check(t, s.Save(ctx, c.was))
			}
			write := func() error { return s.Delete(ctx, "x") }
			if c.is != nil {
				write = func() error { return s.Save(ctx, c.is) }
			}
			gets := 1
			if c.is != nil && c.is.Code != nil {
				gets = 2
			}
			checkBudget(t, counter, [5]int{1, gets, 0, c.want, 1}, write)
		})
	}
}

func checkBudget(t *testing.T, counter *faults.Counter, want [5]int, run func() error) {
	t.Helper()
	counts, err := counter.Measure(run)
	check(t, err)
	if diff := cmp.Diff(want, [5]int{counts.Rounds, counts.Gets, counts.Ranges, counts.Writes, counts.Commits}); diff != "" {
		t.Errorf("it cost %v (-want +got):\n%s", counts, diff)
	}
}

func drain[G any](groups func(func(G, error) bool)) error {
	for _, err := range groups {
		if err != nil {
			return err
		}
	}
	return nil
}
