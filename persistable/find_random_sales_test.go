// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	cmplib "cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
)

// saleWish draws a condition on a field of sales.
func saleWish(w *rand.Rand) wish[*Sale] {
	f := SaleFields
	switch w.IntN(10) {
	case 7:
		return compareOn(w, "Units", f.Units, []uint64{0, 1, 1 << 63}, cmplib.Compare[uint64], func(v *Sale) uint64 { return v.Units })
	case 8:
		tag := []string{"", "x", "y"}[w.IntN(3)]
		return wish[*Sale]{f.Tags.Equal(tag), "Tags=" + tag, func(v *Sale) bool { return slices.Contains(v.Tags, tag) }}
	case 9:
		return salePrefix(w)
	case 0:
		return compareOn(w, "Country", f.Country, []string{"", "at", "de"}, strings.Compare, func(v *Sale) string { return v.Country })
	case 1:
		return compareOn(w, "Amount", f.Amount, []int64{-1, 0, 1, 2}, cmplib.Compare[int64], func(v *Sale) int64 { return v.Amount })
	case 2:
		return compareOn(w, "Editor", f.Editor, []*string{nil, ptr("a"), ptr("a\x00"), ptr("b")}, compareNullable[string], func(v *Sale) *string { return v.Editor })
	case 3:
		return compareOn(w, "CreatedAt", f.CreatedAt, []time.Time{day0, day1, day1.AddDate(0, 0, 1)}, time.Time.Compare, func(v *Sale) time.Time { return v.CreatedAt })
	case 4:
		return compareOn(w, "Code", f.Code, []*string{nil, ptr("1"), ptr("2"), ptr("25")}, compareNullable[string], func(v *Sale) *string { return v.Code })
	case 5:
		return compareOn(w, "Discount", f.Discount, []*int64{nil, ptr(int64(-1)), ptr(int64(0)), ptr(int64(300))}, compareNullable[int64], func(v *Sale) *int64 { return v.Discount })
	}
	return compareOn(w, "Status", f.Status, []OrderStatus{0, 1, 2}, cmplib.Compare[OrderStatus], func(v *Sale) OrderStatus { return v.Status })
}

// salePrefix draws the beginning of a field of sales: of one that may be null and is stored in
// descending order in a unique index and in a partial one, and of one in several indexes.
func salePrefix(w *rand.Rand) wish[*Sale] {
	f, text := SaleFields, []string{"", "1", "2", "a", "a\x00", "d", "de"}[w.IntN(7)]
	begins := func(s *string) bool { return s != nil && strings.HasPrefix(*s, text) }
	switch w.IntN(3) {
	case 0:
		return wish[*Sale]{persistable.HasPrefix(f.Code, text), fmt.Sprintf("Code prefix %q", text), func(v *Sale) bool { return begins(v.Code) }}
	case 1:
		return wish[*Sale]{persistable.HasPrefix(f.Editor, text), fmt.Sprintf("Editor prefix %q", text), func(v *Sale) bool { return begins(v.Editor) }}
	}
	return wish[*Sale]{persistable.HasPrefix(f.Country, text), fmt.Sprintf("Country prefix %q", text), func(v *Sale) bool { return begins(&v.Country) }}
}

// randomSales creates sales with few different values.
func randomSales(t *testing.T, random *rand.Rand, s *SaleStore, n int) (all []*Sale) {
	t.Helper()
	for i := range n {
		v := &Sale{
			ID: fmt.Sprintf("%026d", i), Status: OrderStatus(random.IntN(3)), Country: []string{"", "at", "de"}[random.IntN(3)],
			Amount: int64(random.IntN(4) - 1), CreatedAt: day0.AddDate(0, 0, random.IntN(3)),
			Editor: []*string{nil, ptr(""), ptr("a"), ptr("a\x00"), ptr("b")}[random.IntN(5)],
			Units:  []uint64{0, 1, 1 << 63}[random.IntN(3)], Tags: [][]string{nil, {"x"}, {"x", "y"}, {""}}[random.IntN(4)],
		}
		if random.IntN(2) == 0 {
			v.Code = ptr(fmt.Sprint(i))
		}
		if random.IntN(2) == 0 {
			v.Discount = ptr([]int64{-1, 0, 300}[random.IntN(3)])
		}
		check(t, s.Save(ctx, v))
		all = append(all, v)
	}
	return all
}

func saleIDs(all []*Sale) (ids []string) {
	for _, v := range all {
		ids = append(ids, v.ID)
	}
	return ids
}

// TestFindRandomSales is [TestFindRandom] for a type with a partial index, fields in
// descending order, a unique index of them, chosen copies and a scattered index.
func TestFindRandomSales(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		s := SaleStoreOf(db)
		all := randomSales(t, random, s, 40)
		rounds := 400
		if strings.HasSuffix(t.Name(), "hostile") {
			rounds = 40
		}
		for i := range rounds {
			drawn := wishes[*Sale]{random, saleWish}.several(3, 2)
			if i%4 == 0 {
				drawn = append(drawn, wishesOfPartial(random)...)
			}
			conditions, text, holds := joined(drawn)
			q, err := s.AllowScan().Find(conditions...)
			if errors.Is(err, persistable.ErrTooManyAlternatives) {
				continue
			}
			check(t, err)
			var want []string
			for _, v := range all {
				if holds(v) {
					want = append(want, v.ID)
				}
			}
			if checkFound(t, random, text, q, want, saleIDs); t.Failed() {
				return
			}
		}
	})
}

// wishesOfPartial draws conditions near the predicate of the partial index.
func wishesOfPartial(random *rand.Rand) []wish[*Sale] {
	f, least := SaleFields, int64(random.IntN(3)-1)
	conditions := []wish[*Sale]{
		{condition: persistable.Condition[*Sale]{}, text: "absent", holds: func(*Sale) bool { return true }},
		{f.Status.Equal(1), "Status=1", func(v *Sale) bool { return v.Status == 1 }},
		{f.Amount.From(least), fmt.Sprint("Amount>=", least), func(v *Sale) bool { return v.Amount >= least }},
		{f.Editor.From(nil), "Editor>=null", func(*Sale) bool { return true }},
	}
	if random.IntN(2) == 0 {
		conditions[2] = wish[*Sale]{f.Amount.After(least), fmt.Sprint("Amount>", least), func(v *Sale) bool { return v.Amount > least }}
	}
	return slices.Clip(conditions)
}
