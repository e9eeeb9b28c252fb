// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestKindsAgainstAMap runs random writes against a map, and compares what counts,
// sums, extremes, partial indexes, descending ones and copies of fields say with what
// a loop over the map says.
func TestKindsAgainstAMap(t *testing.T) {
	t.Parallel()
	t.Run("plain", rapid.MakeCheck(func(rt *rapid.T) { runSaleModel(t, rt, enginetest.Open(t), 9, false) }))
	t.Run("hostile", rapid.MakeCheck(func(rt *rapid.T) {
		engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: rapid.Uint64().Draw(rt, "seed"), MaxDelay: -1})
		runSaleModel(t, rt, engine, 29, false)
	}))
}

// saleModel is a store and what it should hold.
type saleModel struct {
	db     *persistable.DB
	store  *SaleStore
	sales  map[string]*Sale // by id
	seldom int              // compare at one step in so many more

	// A program of the same type without an index, which writes as well; nil: none.
	older *SaleStore
}

func runSaleModel(t *testing.T, rt *rapid.T, engine kv.Database, seldom int, older bool) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		rt.Fatal(err)
	}
	defer closeDB(t, db)
	m := &saleModel{db: db, store: SaleStoreOf(db), sales: map[string]*Sale{}, seldom: seldom}
	if older {
		m.addOlder(rt)
	}
	rt.Repeat(map[string]func(*rapid.T){
		"create":      func(rt *rapid.T) { m.put(rt, true) },
		"save":        func(rt *rapid.T) { m.put(rt, false) },
		"delete":      func(rt *rapid.T) { m.remove(rt) },
		"batch":       m.putMany,
		"delete some": m.deleteSome,
		"update":      m.update,
		"get":         m.getOrCreate,
		"transaction": m.transaction,
		"": func(rt *rapid.T) {
			if rapid.IntRange(0, m.seldom).Draw(rt, "seldom") == 0 {
				m.compare(rt)
			}
		},
	})
	m.compare(rt)
	if seldom < 10 {
		if err := m.check(m.store); err != nil {
			rt.Fatal(err)
		}
	}
	report, err := m.store.Indexes().Verify(ctx, persistable.VerifyOptions{})
	if err != nil || len(report.Faults) > 0 {
		rt.Fatalf("Verify: %v %v", report.Faults, err)
	}
}

var (
	smallAmount = rapid.SampledFrom([]int64{-1 << 63, -2, -1, 0, 1, 2, 1<<63 - 1})
	smallUnits  = rapid.SampledFrom([]uint64{0, 1, 2, 1 << 63, 1<<64 - 1})
	editors     = rapid.Ptr(rapid.SampledFrom([]string{"", "a", "a\x00", "b\xc3\xbf"}), true)
	instants    = rapid.SampledFrom([]time.Time{time.Unix(-1, 5).UTC(), time.Unix(0, 0).UTC(), day0, day1})
)

func drawSale(rt *rapid.T) *Sale {
	return &Sale{
		ID: smallID.Draw(rt, "id"), Status: OrderStatus(rapid.IntRange(0, 2).Draw(rt, "status")), Country: smallString.Draw(rt, "country"),
		Tags: rapid.SliceOfN(smallString, 0, 3).Draw(rt, "tags"), Amount: smallAmount.Draw(rt, "amount"), Units: smallUnits.Draw(rt, "units"),
		Editor: editors.Draw(rt, "editor"), CreatedAt: instants.Draw(rt, "created"),
		Discount: rapid.Ptr(smallAmount, true).Draw(rt, "discount"), Code: rapid.Ptr(smallString, true).Draw(rt, "code"),
	}
}

// put writes through the model's store and says what the map would say.
func (m *saleModel) put(rt *rapid.T, mustBeNew bool) {
	v := drawSale(rt)
	s := m.writer(rt)
	write := s.Save
	if mustBeNew {
		write = s.Create
	}
	err := write(ctx, v)
	var unique *persistable.UniqueError
	switch owner, taken := m.owner(v); {
	case mustBeNew && m.sales[v.ID] != nil:
		if !errors.Is(err, persistable.ErrExists) {
			rt.Fatalf("Create over a record: %v", err)
		}
	case taken:
		if !errors.As(err, &unique) || unique.Owner != owner || unique.Values[0] != *v.Code {
			rt.Fatalf("the code %q is that of %s: %v", *v.Code, owner, err)
		}
	case err != nil:
		rt.Fatal(err)
	default:
		m.sales[v.ID] = v
	}
}

// owner returns the id of another sale with v's code.
func (m *saleModel) owner(v *Sale) (id string, taken bool) {
	for id, other := range m.sales {
		if id != v.ID && v.Code != nil && other.Code != nil && *other.Code == *v.Code {
			return id, true
		}
	}
	return "", false
}

func (m *saleModel) remove(rt *rapid.T) {
	id := smallID.Draw(rt, "id")
	if err := m.writer(rt).Delete(ctx, id); err != nil {
		rt.Fatal(err)
	}
	delete(m.sales, id)
}

// transaction makes several writes in one transaction, compares what it sees itself,
// and may give it up. Draws cannot be repeated, so it is opened by hand.
func (m *saleModel) transaction(rt *rapid.T) {
	tx, err := m.db.Engine().Begin()
	if err != nil {
		rt.Fatal(err)
	}
	defer tx.Cancel()
	inner := &saleModel{db: m.db, store: m.store.In(m.db.In(tx)), sales: map[string]*Sale{}}
	for id, v := range m.sales {
		inner.sales[id] = v
	}
	if m.older != nil {
		inner.older = m.older.In(m.db.In(tx))
	}
	failed := inner.steps(rt)
	if failed == nil {
		failed = tx.Commit(ctx)
	}
	switch {
	case failed == nil:
		m.sales = inner.sales
	case kv.IsMaybeCommitted(failed):
		m.reload(rt)
	case failed != errGivenUp && !kv.IsRetryable(failed):
		rt.Fatal(failed)
	}
}

// steps are the writes of a transaction. An engine's error ends it.
func (m *saleModel) steps(rt *rapid.T) error {
	for range rapid.IntRange(1, 4).Draw(rt, "writes") {
		v := drawSale(rt)
		var err error
		if rapid.Bool().Draw(rt, "delete") {
			if err = m.writer(rt).Delete(ctx, v.ID); err == nil {
				delete(m.sales, v.ID)
			}
		} else if err = m.writer(rt).Save(ctx, v); err == nil {
			m.sales[v.ID] = v
		}
		var unique *persistable.UniqueError
		if err != nil && !errors.As(err, &unique) {
			return err
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "look") == 0 {
		if err := m.check(m.store); err != nil {
			if kv.CodeOf(err) == 0 {
				rt.Fatal(err)
			}
			return err
		}
	}
	if rapid.Bool().Draw(rt, "give up") {
		return errGivenUp
	}
	return nil
}

// reload takes the stored records as they are, when it is not known whether a
// transaction committed.
func (m *saleModel) reload(rt *rapid.T) {
	all, err := m.store.Scan().Slice(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	m.sales = map[string]*Sale{}
	for _, v := range all {
		m.sales[v.ID] = v
	}
}

// compare checks all reads, in one transaction.
func (m *saleModel) compare(rt *rapid.T) {
	err := m.db.ReadTransact(ctx, func(tx persistable.Tx) error { return m.check(m.store.In(tx)) })
	if err != nil {
		rt.Fatal(err)
	}
}

// check compares all reads with a loop over the map.
func (m *saleModel) check(s *SaleStore) error {
	return cmp.Or(m.checkCounts(s), m.checkSums(s), m.checkExtremes(s), m.checkOrders(s), m.checkRows(s))
}

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

// putMany writes a batch of sales that may be in each other's way.
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
