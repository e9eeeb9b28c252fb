// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/persistable"
)

// fault puts a sale in the map, or returns why a store refuses it.
func (m *saleModel) fault(v *Sale, mustBeNew bool) string {
	if mustBeNew && m.sales[v.ID] != nil {
		return "exists"
	}
	if _, taken := m.owner(v); taken {
		return "taken"
	}
	m.sales[v.ID] = v
	return ""
}

// putMany writes a batch, whose sales may be in each other's way.
func (m *saleModel) putMany(rt *rapid.T) {
	s, mustBeNew := m.writer(rt), rapid.Bool().Draw(rt, "new")
	write := s.SaveMany
	if mustBeNew {
		write = s.CreateMany
	}
	var all []*Sale
	for range rapid.IntRange(0, 6).Draw(rt, "sales") {
		all = append(all, drawSale(rt))
	}
	want, done := "", 0
	for _, v := range all {
		copied := *v
		if want = m.fault(&copied, mustBeNew); want != "" {
			break
		}
		done++
	}
	err := write(ctx, all, persistable.BatchOptions{Records: rapid.IntRange(1, 4).Draw(rt, "records")})
	got := len(all)
	if e := new(persistable.PartialError); errors.As(err, &e) {
		got = e.Done
	}
	if faultOf(err) != want || got != done {
		rt.Fatalf("%d of %d sales, %v, want %d, %q", got, len(all), err, done, want)
	}
}

// deleteSome deletes the first sales in the order of ids.
func (m *saleModel) deleteSome(rt *rapid.T) {
	limit := rapid.IntRange(0, 3).Draw(rt, "limit, but for 0")
	gone := m.matching(func(*Sale) bool { return true }, func(a, b *Sale) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) })
	s := m.writer(rt)
	q := s.Scan()
	if limit > 0 {
		q, gone = q.Limit(limit), gone[:min(limit, len(gone))]
	}
	n, err := s.DeleteWhere(ctx, q, persistable.BatchOptions{Records: rapid.IntRange(1, 3).Draw(rt, "records")})
	if err != nil || n != len(gone) {
		rt.Fatalf("%d sales were deleted, %v, want %d", n, err, len(gone))
	}
	for _, v := range gone {
		delete(m.sales, v.ID)
	}
}

// update changes a sale, or leaves it as it is.
func (m *saleModel) update(rt *rapid.T) {
	v, same := drawSale(rt), rapid.Bool().Draw(rt, "same")
	err := m.writer(rt).Update(ctx, v.ID, func(stored *Sale) error {
		if !same {
			*stored = *v
		}
		return nil
	})
	_, taken := m.owner(v)
	switch was := m.sales[v.ID]; {
	case was == nil:
		if !errors.Is(err, persistable.ErrNotFound) {
			rt.Fatalf("Update of no sale: %v", err)
		}
	case same && err == nil:
	case !same && taken:
		if !errors.As(err, new(*persistable.UniqueError)) {
			rt.Fatalf("Update to a code that is taken: %v", err)
		}
	case err != nil:
		rt.Fatal(err)
	default:
		m.sales[v.ID] = v
	}
}

// getOrCreate looks for a sale by its id, then by its code.
func (m *saleModel) getOrCreate(rt *rapid.T) {
	v := drawSale(rt)
	want := m.sales[v.ID]
	if owner, taken := m.owner(v); want == nil && taken {
		want = m.sales[owner]
	}
	got, created, err := m.writer(rt).GetOrCreate(ctx, v)
	switch {
	case err != nil || created != (want == nil):
		rt.Fatalf("created: %t, %v, want %+v", created, err, want)
	case created:
		m.sales[v.ID] = v
	case got.ID != want.ID || got.Amount != want.Amount || !sameText(got.Code, want.Code):
		rt.Fatalf("got %+v, want %+v", got, want)
	}
}
