// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/persistable"
)

// matching returns the sales that keep lets pass, in the order of compare, then of ids.
func (m *saleModel) matching(keep func(*Sale) bool, compare func(a, b *Sale) int) []*Sale {
	var all []*Sale
	for _, v := range m.sales {
		if keep(v) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *Sale) int { return cmp.Or(compare(a, b), cmp.Compare(a.ID, b.ID)) })
	return all
}

func unordered(_, _ *Sale) int { return 0 }

func (m *saleModel) checkCounts(s *SaleStore) error {
	countOf := func(name string, got int64, err error, keep func(*Sale) bool) error {
		if want := len(m.matching(keep, unordered)); err != nil || got != int64(want) {
			return wrong(name, got, want, err)
		}
		return nil
	}
	n, err := s.CountAll(ctx)
	failed := countOf("CountAll", n, err, func(*Sale) bool { return true })
	groups := map[SaleStatusCountry]int64{}
	for status := range OrderStatus(3) {
		for _, country := range []string{"", "a", "a\x00", "b", "\x00"} {
			n, err := s.CountByStatusCountry(ctx, status, country)
			keep := func(v *Sale) bool { return v.Status == status && v.Country == country }
			failed = cmp.Or(failed, countOf("CountByStatusCountry", n, err, keep))
			if want := len(m.matching(keep, unordered)); want > 0 {
				groups[SaleStatusCountry{status, country}] = int64(want)
			}
		}
		n, err := s.CountByStatusWhereAmount(ctx, status)
		failed = cmp.Or(failed, countOf("CountByStatusWhereAmount", n, err, func(v *Sale) bool { return v.Status == status && v.Amount > 0 }))
	}
	tags := map[string]int64{}
	for _, tag := range []string{"", "a", "a\x00", "b", "\x00"} {
		n, err := s.CountByTags(ctx, tag)
		keep := func(v *Sale) bool { return slices.Contains(v.Tags, tag) }
		failed = cmp.Or(failed, countOf("CountByTags", n, err, keep))
		if want := len(m.matching(keep, unordered)); want > 0 {
			tags[tag] = int64(want)
		}
	}
	for _, editor := range []*string{nil, ptr(""), ptr("a"), ptr("a\x00")} {
		n, err := s.CountByEditor(ctx, editor)
		failed = cmp.Or(failed, countOf("CountByEditor", n, err, func(v *Sale) bool { return sameText(v.Editor, editor) }))
	}
	got := map[SaleStatusCountry]int64{}
	for g, err := range s.CountsByStatusCountry(ctx) {
		failed = cmp.Or(failed, err)
		got[g.Group] = g.Count
	}
	gotTags := map[string]int64{}
	for g, err := range s.CountsByTags(ctx) {
		failed = cmp.Or(failed, err)
		gotTags[g.Group] = g.Count
	}
	if diff := gocmp.Diff(groups, got) + gocmp.Diff(tags, gotTags); diff != "" && failed == nil {
		return fmt.Errorf("Counts (-want +got):\n%s", diff)
	}
	return failed
}

func sameText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func wrong(name string, got, want any, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s is %v, want %v", name, got, want)
}

// total adds what of says, in integers of any size.
func (m *saleModel) total(keep func(*Sale) bool, of func(*Sale) *big.Int) *big.Int {
	sum := new(big.Int)
	for _, v := range m.matching(keep, unordered) {
		sum.Add(sum, of(v))
	}
	return sum
}

// checkSum compares a sum, which may be one that does not fit.
func checkSum[S int64 | uint64](name string, got S, err error, want *big.Int) error {
	fits := want.IsUint64()
	if _, signed := any(got).(int64); signed {
		fits = want.IsInt64()
	}
	switch {
	case errors.Is(err, persistable.ErrOverflow):
		if fits || !strings.Contains(err.Error(), " is "+want.String()+", which does not fit") {
			return fmt.Errorf("%s does not fit: %v, want %v", name, err, want)
		}
		return nil
	case err != nil || !fits || fmt.Sprint(got) != want.String():
		return wrong(name, got, want, err)
	}
	return nil
}

func (m *saleModel) checkSums(s *SaleStore) (failed error) {
	amount := func(v *Sale) *big.Int { return big.NewInt(v.Amount) }
	units := func(v *Sale) *big.Int { return new(big.Int).SetUint64(v.Units) }
	for status := range OrderStatus(3) {
		got, err := s.SumAmountByStatus(ctx, status)
		failed = cmp.Or(failed, checkSum("SumAmountByStatus", got, err, m.total(func(v *Sale) bool { return v.Status == status }, amount)))
	}
	got, err := s.SumUnits(ctx)
	failed = cmp.Or(failed, checkSum("SumUnits", got, err, m.total(func(*Sale) bool { return true }, units)))
	for _, tag := range []string{"", "a", "a\x00", "b", "\x00"} {
		got, err := s.SumDiscountByTags(ctx, tag)
		failed = cmp.Or(failed, checkSum("SumDiscountByTags", got, err, m.total(
			func(v *Sale) bool { return v.Discount != nil && slices.Contains(v.Tags, tag) },
			func(v *Sale) *big.Int { return big.NewInt(*v.Discount) })))
	}
	for g, err := range s.SumsAmountByStatus(ctx) {
		want := m.total(func(v *Sale) bool { return v.Status == g.Group }, amount)
		if want.Sign() == 0 {
			err = fmt.Errorf("the group %v of the sum 0 is there: %w", g.Group, err)
		}
		failed = cmp.Or(failed, checkSum("SumsAmountByStatus", g.Sum, err, want))
	}
	seen := 0
	for g, err := range s.SumsUnitsByTags(ctx) {
		seen++
		failed = cmp.Or(failed, checkSum("SumsUnitsByTags", g.Sum, err, m.total(func(v *Sale) bool { return slices.Contains(v.Tags, g.Group) }, units)))
	}
	for _, tag := range []string{"", "a", "a\x00", "b", "\x00"} {
		if m.total(func(v *Sale) bool { return slices.Contains(v.Tags, tag) }, units).Sign() != 0 {
			seen--
		}
	}
	if seen != 0 && failed == nil {
		return fmt.Errorf("SumsUnitsByTags has %d groups too many", seen)
	}
	return failed
}

func (m *saleModel) checkExtremes(s *SaleStore) (failed error) {
	amounts := func(a, b *Sale) int { return cmp.Compare(a.Amount, b.Amount) }
	times := func(a, b *Sale) int { return a.CreatedAt.Compare(b.CreatedAt) }
	for _, country := range []string{"", "a", "a\x00"} {
		all := m.matching(func(v *Sale) bool { return v.Country == country }, amounts)
		least, ok, err := s.MinAmountByCountry(ctx, country)
		greatest, ok2, err2 := s.MaxAmountByCountry(ctx, country)
		if err = cmp.Or(err, err2); err != nil || ok != (len(all) > 0) || ok2 != ok || ok && (least != all[0].Amount || greatest != all[len(all)-1].Amount) {
			failed = cmp.Or(failed, wrong("the amounts", fmt.Sprint(least, greatest, ok, ok2), all, err))
		}
	}
	for status := range OrderStatus(3) {
		all := m.matching(func(v *Sale) bool { return v.Status == status }, times)
		least, ok, err := s.MinCreatedAtByStatus(ctx, status)
		greatest, ok2, err2 := s.MaxCreatedAtByStatus(ctx, status)
		if err = cmp.Or(err, err2); err != nil || ok != (len(all) > 0) || ok2 != ok || ok && (!least.Equal(all[0].CreatedAt) || !greatest.Equal(all[len(all)-1].CreatedAt)) {
			failed = cmp.Or(failed, wrong("the times", fmt.Sprint(least, greatest, ok, ok2), all, err))
		}
	}
	all := m.matching(func(v *Sale) bool { return v.Discount != nil }, func(a, b *Sale) int { return cmp.Compare(*a.Discount, *b.Discount) })
	least, ok, err := s.MinDiscount(ctx)
	greatest, ok2, err2 := s.MaxDiscount(ctx)
	if err = cmp.Or(err, err2); err != nil || ok != (len(all) > 0) || ok2 != ok || ok && (least != *all[0].Discount || greatest != *all[len(all)-1].Discount) {
		failed = cmp.Or(failed, wrong("the discounts", fmt.Sprint(least, greatest, ok, ok2), all, err))
	}
	return failed
}

// sameSales compares the result of a query.
func sameSales(name string, q *persistable.Query[*Sale], want []*Sale) error {
	got, err := q.Slice(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	ids := func(all []*Sale) []string {
		list := []string{}
		for _, v := range all {
			list = append(list, v.ID)
		}
		return list
	}
	if diff := gocmp.Diff(ids(want), ids(got)); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", name, diff)
	}
	return nil
}

func (m *saleModel) checkOrders(s *SaleStore) (failed error) {
	latest := func(a, b *Sale) int { return b.CreatedAt.Compare(a.CreatedAt) }
	within := func(status OrderStatus, keep func(at time.Time) bool) []*Sale {
		return m.matching(func(v *Sale) bool { return v.Status == status && keep(v.CreatedAt) }, latest)
	}
	note := func(err error) { failed = cmp.Or(failed, err) }
	for status := range OrderStatus(3) {
		q := s.ByStatusCreatedAt(status)
		for _, at := range []time.Time{time.Unix(0, 0).UTC(), day0} {
			note(sameSales("From", q.From(at).Query(), within(status, func(v time.Time) bool { return !v.Before(at) })))
			note(sameSales("After", q.After(at).Query(), within(status, func(v time.Time) bool { return v.After(at) })))
			note(sameSales("To", q.To(at).Query(), within(status, func(v time.Time) bool { return !v.After(at) })))
			note(sameSales("Before", q.Before(at).Query(), within(status, func(v time.Time) bool { return v.Before(at) })))
			note(sameSales("Equal", q.Equal(at).Query(), within(status, func(v time.Time) bool { return v.Equal(at) })))
			found, err := s.Find(SaleFields.CreatedAt.Before(at), SaleFields.Status.Equal(status))
			note(err)
			note(sameSales("Find", found, within(status, func(v time.Time) bool { return v.Before(at) })))
			found, err = s.Find(SaleFields.CreatedAt.Equal(at), SaleFields.Status.Equal(status))
			note(err)
			note(sameSales("Find", found, within(status, func(v time.Time) bool { return v.Equal(at) })))
		}
		reversed := within(status, func(time.Time) bool { return true })
		slices.Reverse(reversed)
		note(sameSales("Reverse", q.Reverse().Query(), reversed))
	}
	// The partial index: the greatest editor first, null last.
	partial := func(keep func(*string) bool) []*Sale {
		return m.matching(func(v *Sale) bool { return v.Status == 1 && v.Amount > 0 && keep(v.Editor) }, func(a, b *Sale) int { return compareTexts(b.Editor, a.Editor) })
	}
	q := s.ByEditorWhereStatusAmount()
	note(sameSales("the partial index", q.Query(), partial(func(*string) bool { return true })))
	note(sameSales("its editors after a", q.After(ptr("a")).Query(), partial(func(v *string) bool { return compareTexts(v, ptr("a")) > 0 })))
	note(sameSales("its editors not after a", q.To(ptr("a")).Query(), partial(func(v *string) bool { return compareTexts(v, ptr("a")) <= 0 })))
	note(sameSales("its nulls", q.Equal(nil).Query(), partial(func(v *string) bool { return v == nil })))
	for _, code := range []string{"", "a", "b"} {
		want := m.matching(func(v *Sale) bool { return v.Code != nil && *v.Code == code }, unordered)
		got, err := s.ByCode(ctx, code)
		if note(ignore(err, persistable.ErrNotFound)); len(want) == 1 && (err != nil || got.ID != want[0].ID) || len(want) == 0 && err == nil {
			note(wrong("ByCode", got, want, err))
		}
	}
	return failed
}

// compareTexts compares texts; null is the least.
func compareTexts(a, b *string) int {
	if a == nil || b == nil {
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	}
	return cmp.Compare(*a, *b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *saleModel) checkRows(s *SaleStore) error {
	for _, country := range []string{"", "a", "b"} {
		want := []SaleByCountryAmountRow{}
		for _, v := range m.matching(func(v *Sale) bool { return v.Country == country && v.Amount >= -1 }, func(a, b *Sale) int { return cmp.Compare(a.Amount, b.Amount) }) {
			want = append(want, SaleByCountryAmountRow{v.ID, v.Country, v.Amount, v.Units, v.Editor})
		}
		got, err := s.ByCountryAmountRows(country).From(-1).Slice(ctx)
		if diff := gocmp.Diff(want, append([]SaleByCountryAmountRow{}, got...)); diff != "" || err != nil {
			return wrong("the rows (-want +got):\n"+diff, "different", "the same", err)
		}
	}
	want := []SaleByCodeRow{}
	for _, v := range m.matching(func(v *Sale) bool { return v.Code != nil }, func(a, b *Sale) int { return compareTexts(b.Code, a.Code) }) {
		want = append(want, SaleByCodeRow{v.ID, *v.Code, v.Amount})
	}
	got, err := s.OrderedByCodeRows().Slice(ctx)
	if diff := gocmp.Diff(want, append([]SaleByCodeRow{}, got...)); diff != "" || err != nil {
		return wrong("the rows of codes (-want +got):\n"+diff, "different", "the same", err)
	}
	return nil
}
