// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
)

// TestDeletedAgainstAMap runs random writes through a store and through that with the deleted records, and
// compares what all of their indexes say with a map.
func TestDeletedAgainstAMap(t *testing.T) {
	t.Parallel()
	for _, hostile := range []bool{false, true} {
		t.Run(fmt.Sprintf("hostile %v", hostile), func(t *testing.T) {
			random, engine := seed.Rand(t), kv.Database(enginetest.Open(t))
			if hostile {
				engine = faults.Hostile(engine, faults.Options{Seed: random.Uint64(), MaxDelay: -1})
			}
			db := open(t, engine)
			m := &deletedModel{t: t, random: random, db: db, orders: deleted.OrderStoreOf(db), stored: map[int64]deleted.Order{}}
			m.all = m.orders.WithDeleted()
			for turn := range 150 {
				m.write()
				if turn%10 == 9 {
					m.compare()
				}
			}
			sound(t, m.orders.Indexes().Verify)
		})
	}
}

// deletedModel is a store and what it should hold.
type deletedModel struct {
	t           *testing.T
	random      *rand.Rand
	db          *persistable.DB
	orders, all *deleted.OrderStore
	stored      map[int64]deleted.Order
}

func (m *deletedModel) draw() *deleted.Order {
	word := func(words ...string) string { return words[m.random.IntN(len(words))] }
	return &deleted.Order{
		ID: m.random.Int64N(12) + 1, Number: word("A", "B", "C", "D", "E", "F", "G", "H"), Serial: m.random.Int64N(6), City: word("Oulu", "Turku"),
		Status: m.random.Int64N(3), Amount: m.random.Int64N(5) - 2, Text: word("red paint", "red", "blue paint", ""), Tags: []string{word("x", "y"), "z"}[:m.random.IntN(3)],
	}
}

// isThere reports whether the store, or the one with the deleted records, has a record.
func (m *deletedModel) isThere(id int64, withDeleted bool) bool {
	o, ok := m.stored[id]
	return ok && (withDeleted || o.DeletedAt.IsZero())
}

// isTaken reports whether another record has a unique value of an order.
func (m *deletedModel) isTaken(o *deleted.Order) bool {
	for id, other := range m.stored {
		both := o.DeletedAt.IsZero() && other.DeletedAt.IsZero()
		if id != o.ID && (both && other.Number == o.Number || other.City == o.City && other.Serial == o.Serial) {
			return true
		}
	}
	return false
}

// put notes what a write of an order through one of the stores should have done, and checks its error.
func (m *deletedModel) put(o *deleted.Order, err error, withDeleted, creates bool) {
	m.t.Helper()
	was, isStored := m.stored[o.ID]
	switch hidden := isStored && !withDeleted && !was.DeletedAt.IsZero(); {
	case hidden:
		wantError(m.t, err, persistable.ErrDeleted)
	case creates && isStored:
		wantError(m.t, err, persistable.ErrExists)
	case m.isTaken(o):
		wantAs[*persistable.UniqueError](m.t, err)
	default:
		check(m.t, err)
		m.stored[o.ID] = *o
	}
}

// remove notes a deletion through one of the stores.
func (m *deletedModel) remove(id int64, withDeleted bool) {
	o, ok := m.stored[id]
	switch {
	case withDeleted:
		delete(m.stored, id)
	case ok && o.DeletedAt.IsZero():
		o.DeletedAt = must[*deleted.Order](m.t)(m.all.Get(ctx, id)).DeletedAt
		m.stored[id] = o
	}
}

func (m *deletedModel) write() {
	o, withDeleted := m.draw(), m.random.IntN(3) == 0
	s := m.orders
	if withDeleted {
		s = m.all
	}
	switch m.random.IntN(9) {
	case 0, 1:
		m.put(o, s.Create(ctx, o), withDeleted, true)
	case 2:
		m.put(o, s.Save(ctx, o), withDeleted, false)
	case 3:
		check(m.t, s.Delete(ctx, o.ID))
		m.remove(o.ID, withDeleted)
	case 4:
		ids := []int64{o.ID, o.ID%12 + 1, o.ID}
		check(m.t, persistable.DeleteMany(ctx, &s.Store, ids, persistable.BatchOptions{Records: 2}))
		for _, id := range ids {
			m.remove(id, withDeleted)
		}
	case 5:
		m.deleteByStatus(s, o.Status, withDeleted)
	case 6, 7:
		m.update(s, o, withDeleted)
	default:
		m.inTransaction(s, o.ID, withDeleted)
	}
}

// deleteByStatus deletes by a query on an index that has the deleted records, too.
func (m *deletedModel) deleteByStatus(s *deleted.OrderStore, status int64, withDeleted bool) {
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(m.stored)) {
		if m.isThere(id, withDeleted) && m.stored[id].Status == status {
			ids = append(ids, id)
		}
	}
	limit := 1 + m.random.IntN(3)
	ids = ids[:min(limit, len(ids))]
	n := must[int](m.t)(s.DeleteWhere(ctx, s.ByStatus(status).Limit(limit), persistable.BatchOptions{Records: 2}))
	if n != len(ids) {
		m.t.Fatalf("DeleteWhere has deleted %d of %v", n, ids)
	}
	for _, id := range ids {
		m.remove(id, withDeleted)
	}
}

// update changes all fields of a record, and restores it if the store has deleted ones.
func (m *deletedModel) update(s *deleted.OrderStore, o *deleted.Order, withDeleted bool) {
	restores := m.random.IntN(2) == 0
	next := *o
	err := s.Update(ctx, o.ID, func(v *deleted.Order) error {
		next.CreatedAt, next.DeletedAt = v.CreatedAt, v.DeletedAt
		if restores {
			next.DeletedAt = time.Time{}
		}
		*v = next
		return nil
	})
	if !m.isThere(o.ID, withDeleted) {
		wantError(m.t, err, persistable.ErrNotFound)
		return
	}
	m.put(&next, err, withDeleted, false)
}

// inTransaction deletes a record in a transaction, which does not see it then.
func (m *deletedModel) inTransaction(s *deleted.OrderStore, id int64, withDeleted bool) {
	check(m.t, m.db.Transact(ctx, func(tx persistable.Tx) error {
		if err := s.In(tx).Delete(ctx, id); err != nil {
			return err
		}
		bound := m.orders.In(tx)
		if found, err := bound.Exists(ctx, id); err != nil || found {
			return fmt.Errorf("the deleted record is there: %v, %w", found, err)
		}
		for v, err := range bound.OrderedByDeletedAt().All(ctx) {
			if err != nil || v.ID == id {
				return fmt.Errorf("the deleted record is listed: %w", err)
			}
		}
		return nil
	}))
	m.remove(id, withDeleted)
}

// list returns the records of a store that fulfil a condition, in an order.
func (m *deletedModel) list(withDeleted bool, order func(a, b deleted.Order) int, is func(o deleted.Order) bool) (all []deleted.Order) {
	for id, o := range m.stored {
		if m.isThere(id, withDeleted) && (is == nil || is(o)) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b deleted.Order) int { return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID)) })
	return all
}

func byID(deleted.Order, deleted.Order) int { return 0 }

// describe returns what is compared of records.
func describe(all []deleted.Order) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintf(&b, "%d %s %d %s %d %d %q %q %v\n", o.ID, o.Number, o.Serial, o.City, o.Status, o.Amount, o.Text, o.Tags, o.DeletedAt.IsZero())
	}
	return b.String()
}

// want compares what a query yields, in one piece, counted, and in pages, with what it should.
func (m *deletedModel) want(name string, q *persistable.Query[*deleted.Order], want []deleted.Order) {
	m.t.Helper()
	m.same(name, must[[]*deleted.Order](m.t)(q.Slice(ctx)), want)
	if n := must[int](m.t)(q.Count(ctx)); n != len(want) {
		m.t.Errorf("%s: Count returns %d of %d", name, n, len(want))
	}
	var paged []*deleted.Order
	for token, first := "", true; first || token != ""; first = false {
		page := must[persistable.Page[*deleted.Order]](m.t)(q.Limit(2).Page(ctx, token))
		paged, token = append(paged, page.Records...), page.Next
	}
	m.same(name+" in pages", paged, want)
	reversed := must[[]*deleted.Order](m.t)(q.Reverse().Limit(3).Slice(ctx))
	slices.Reverse(reversed)
	m.same(name+" backward", reversed, want[max(0, len(want)-3):])
}

func (m *deletedModel) same(name string, got []*deleted.Order, want []deleted.Order) {
	m.t.Helper()
	var all []deleted.Order
	for _, o := range got {
		all = append(all, *o)
	}
	if got, want := describe(all), describe(want); got != want {
		m.t.Fatalf("%s yields\n%swant\n%s", name, got, want)
	}
}

func (m *deletedModel) number(name string, got, want int64) {
	m.t.Helper()
	if got != want {
		m.t.Errorf("%s is %d, want %d", name, got, want)
	}
}

func (m *deletedModel) compare() {
	for _, withDeleted := range []bool{false, true} {
		s := m.orders
		if withDeleted {
			s = m.all
		}
		m.compareBoth(s, withDeleted)
	}
	m.compareQueries()
	m.compareNumbers()
	m.compareFind()
}

// compareBoth compares what stores with and without the deleted records can tell.
func (m *deletedModel) compareBoth(s *deleted.OrderStore, withDeleted bool) {
	m.want("Scan", s.Scan(), m.list(withDeleted, byID, nil))
	var ids []int64
	for id := range int64(13) {
		ids = append(ids, id)
	}
	for i, o := range must[[]*deleted.Order](m.t)(s.GetMany(ctx, ids)) {
		v, err := s.Get(ctx, ids[i])
		found := must[bool](m.t)(s.Exists(ctx, ids[i]))
		if there := m.isThere(ids[i], withDeleted); (o != nil) != there || (err == nil) != there || (v != nil) != there || found != there {
			m.t.Errorf("GetMany %v, Get %v, %v, Exists %v of %d", o, v, err, found, ids[i])
		}
	}
	for status := range int64(3) {
		is := func(o deleted.Order) bool { return o.Status == status }
		m.want("ByStatus", s.ByStatus(status), m.list(withDeleted, byID, is))
		q := must[*persistable.Query[*deleted.Order]](m.t)(s.AllowScan().Find(deleted.OrderFields.Status.Equal(status), deleted.OrderFields.Text.Equal("red")))
		m.want("Find", q, m.list(withDeleted, byID, func(o deleted.Order) bool { return is(o) && o.Text == "red" }))
	}
	m.want("OrderedByDeletedAt", s.OrderedByDeletedAt().Query(), m.list(withDeleted, func(a, b deleted.Order) int { return a.DeletedAt.Compare(b.DeletedAt) }, nil))
	for serial := range int64(6) {
		o, err := s.ByCitySerial(ctx, "Oulu", serial)
		want := m.list(withDeleted, byID, func(o deleted.Order) bool { return o.City == "Oulu" && o.Serial == serial })
		if errors.Is(err, persistable.ErrNotFound) && len(want) == 0 {
			continue
		}
		check(m.t, err)
		m.same("ByCitySerial", []*deleted.Order{o}, want)
	}
}

// compareQueries compares what indexes without the deleted records list.
func (m *deletedModel) compareQueries() {
	s := m.orders
	for _, number := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		o, err := s.ByNumber(ctx, number)
		want := m.list(false, byID, func(o deleted.Order) bool { return o.Number == number })
		if errors.Is(err, persistable.ErrNotFound) && len(want) == 0 {
			continue
		}
		check(m.t, err)
		m.same("ByNumber", []*deleted.Order{o}, want)
	}
	for _, tag := range []string{"x", "z"} {
		m.want("ByTags", s.ByTags(tag), m.list(false, byID, func(o deleted.Order) bool { return slices.Contains(o.Tags, tag) }))
	}
	isOulu := func(o deleted.Order) bool { return o.City == "Oulu" }
	want := m.list(false, func(a, b deleted.Order) int { return cmp.Compare(b.Amount, a.Amount) }, isOulu)
	m.want("ByCityAmount", s.ByCityAmount("Oulu").Query(), want)
	for i, row := range must[[]deleted.OrderByCityAmountRow](m.t)(s.ByCityAmountRows("Oulu").Slice(ctx)) {
		if row.ID != want[i].ID || row.Status != want[i].Status {
			m.t.Errorf("the row %d is %+v", i, row)
		}
	}
	m.want("SearchText", s.SearchText("red", persistable.AllWords), m.list(false, byID, func(o deleted.Order) bool { return strings.Contains(o.Text, "red") }))
	m.want("partial", s.OrderedByAmountTextWhereStatus().Query(), m.list(false,
		func(a, b deleted.Order) int {
			return cmp.Or(cmp.Compare(a.Amount, b.Amount), cmp.Compare(a.Text, b.Text))
		}, func(o deleted.Order) bool { return o.Status > 0 }))
	top := must[[]*deleted.Order](m.t)(s.TopByAmountByCity(ctx, "Oulu", persistable.NoLimit))
	slices.Reverse(top)
	ascending := m.list(false, func(a, b deleted.Order) int { return cmp.Compare(a.Amount, b.Amount) }, isOulu)
	m.same("TopByAmountByCity", top, ascending)
	for n := range ascending {
		m.same("NthByAmountByCity", []*deleted.Order{must[*deleted.Order](m.t)(s.NthByAmountByCity(ctx, "Oulu", int64(n)))}, ascending[n:n+1])
	}
}

// compareNumbers compares counts, sums, extremes and ranks.
func (m *deletedModel) compareNumbers() {
	all := m.list(false, byID, nil)
	m.number("CountAll", must[int64](m.t)(m.orders.CountAll(ctx)), int64(len(all)))
	for status := range int64(3) {
		var n int64
		greatest := int64(-100)
		for _, o := range all {
			if o.Status == status {
				n, greatest = n+1, max(greatest, o.Amount)
			}
		}
		m.number("CountByStatus", must[int64](m.t)(m.orders.CountByStatus(ctx, status)), n)
		most, found, err := m.orders.MaxAmountByStatus(ctx, status)
		if check(m.t, err); found != (n > 0) || found && most != greatest {
			m.t.Errorf("MaxAmountByStatus is %d, %v, want %d", most, found, greatest)
		}
	}
	var sum, below, everywhere, ever int64
	for _, o := range m.stored {
		if everywhere += o.Amount; o.City != "Oulu" {
			continue
		}
		if ever++; o.DeletedAt.IsZero() {
			sum += o.Amount
			if o.Amount < 1 {
				below++
			}
		}
	}
	m.number("SumAmountByCity", must[int64](m.t)(m.orders.SumAmountByCity(ctx, "Oulu")), sum)
	m.number("RankOfAmountByCity", must[int64](m.t)(m.orders.RankOfAmountByCity(ctx, "Oulu", 1)), below)
	m.number("SumAmount of all", must[int64](m.t)(m.all.SumAmount(ctx)), everywhere)
	m.number("CountByCity of all", must[int64](m.t)(m.all.CountByCity(ctx, "Oulu")), ever)
}

// compareFind compares conditions that several indexes serve, of both kinds.
func (m *deletedModel) compareFind() {
	f := &deleted.OrderFields
	for _, c := range []struct {
		conditions []persistable.Condition[*deleted.Order]
		is         func(o deleted.Order) bool
	}{
		{[]persistable.Condition[*deleted.Order]{f.Status.Equal(1), f.Tags.Equal("z")}, func(o deleted.Order) bool { return o.Status == 1 && slices.Contains(o.Tags, "z") }},
		{[]persistable.Condition[*deleted.Order]{persistable.Or(f.Status.Equal(1), f.Number.Equal("A"))}, func(o deleted.Order) bool { return o.Status == 1 || o.Number == "A" }},
		{[]persistable.Condition[*deleted.Order]{f.Status.In(0, 2)}, func(o deleted.Order) bool { return o.Status != 1 }},
		{[]persistable.Condition[*deleted.Order]{f.City.Equal("Oulu"), f.DeletedAt.Equal(time.Time{})}, func(o deleted.Order) bool { return o.City == "Oulu" && o.DeletedAt.IsZero() }},
		{[]persistable.Condition[*deleted.Order]{f.ID.From(4), f.Status.Equal(2)}, func(o deleted.Order) bool { return o.ID >= 4 && o.Status == 2 }},
		{[]persistable.Condition[*deleted.Order]{f.ID.To(7)}, func(o deleted.Order) bool { return o.ID <= 7 }},
	} {
		for _, withDeleted := range []bool{false, true} {
			s := m.orders
			if withDeleted {
				s = m.all
			}
			q := must[*persistable.Query[*deleted.Order]](m.t)(s.AllowScan().Find(c.conditions...))
			got := must[[]*deleted.Order](m.t)(q.Slice(ctx))
			slices.SortFunc(got, func(a, b *deleted.Order) int { return cmp.Compare(a.ID, b.ID) })
			want := m.list(withDeleted, byID, c.is)
			m.same("Find", got, want)
			if n := must[int](m.t)(q.Count(ctx)); n != len(want) {
				m.t.Errorf("Count of Find is %d, want %d: %s", n, len(want), must[*persistable.Explanation](m.t)(q.Explain(ctx)))
			}
		}
	}
}
