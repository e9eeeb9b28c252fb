// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// The benchmarks compare a store with the same keys and values written by hand
// on kv: what the layer itself costs.

func BenchmarkGet(b *testing.B) {
	db := open(b, enginetest.Open(b))
	s := OrderStoreOf(db, "t")
	all := someOrders(b, s, 100)
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := s.Get(ctx, all[i%100].ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	hand := handWritten{db.Engine(), prefixOf(b, db, "tenants", "t", "orders")}
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := hand.get(ctx, all[i%100].ID); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCreate creates orders: one unique index, one compound, one plain.
func BenchmarkCreate(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		db := open(b, enginetest.Open(b))
		s := OrderStoreOf(db, "t")
		b.ReportAllocs()
		for i := range b.N {
			if err := s.Create(ctx, NewOrder(Order{TenantID: "t", Number: strconv.Itoa(i), Status: Paid, CreatedAt: day0, Amount: 1})); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		hand := handWritten{enginetest.Open(b), []byte("\x15\x05\x15\x06\x15\x07")}
		b.ReportAllocs()
		for i := range b.N {
			if err := hand.create(ctx, NewOrder(Order{TenantID: "t", Number: strconv.Itoa(i), Status: Paid, CreatedAt: day0, Amount: 1})); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkByUnique(b *testing.B) {
	db := open(b, enginetest.Open(b))
	s := OrderStoreOf(db, "t")
	someOrders(b, s, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.ByNumber(ctx, "42"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	s := OrderStoreOf(open(b, enginetest.Open(b)), "t")
	o := someOrders(b, s, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		o.Amount++
		if err := s.Save(ctx, o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan100(b *testing.B) {
	s := OrderStoreOf(open(b, enginetest.Open(b)), "t")
	someOrders(b, s, 300)
	b.ReportAllocs()
	for b.Loop() {
		if all, err := s.ByStatus(Paid).Slice(ctx); err != nil || len(all) != 100 {
			b.Fatal(len(all), err)
		}
	}
}

func BenchmarkStoreOf(b *testing.B) {
	db := open(b, enginetest.Open(b))
	b.ReportAllocs()
	for b.Loop() {
		if OrderStoreOf(db, "tenant-1") == nil {
			b.Fatal("no store")
		}
	}
}

// handWritten is what a careful user of kv would write for Order.
type handWritten struct {
	db     kv.Database
	prefix []byte
}

func (h handWritten) key(typ string, id idgen.ID) []byte {
	k := append(make([]byte, 0, 64), h.prefix...)
	return tuple.AppendInt(tuple.AppendString(tuple.AppendString(k, typ), "Order"), int64(id))
}

func (h handWritten) get(ctx context.Context, id idgen.ID) (*Order, error) {
	return kv.ReadTransact(ctx, h.db, func(tx kv.ReadTransaction) (*Order, error) {
		value, err := tx.Get(h.key("R", id)).Get(ctx)
		if err != nil {
			return nil, err
		}
		o := new(Order)
		return o, decodeOrder(value[10:], o, nil)
	})
}

func (h handWritten) create(ctx context.Context, o *Order) error {
	return h.db.Transact(ctx, func(tx kv.Transaction) error {
		record := h.key("R", o.ID)
		id := tuple.AppendInt(nil, int64(o.ID))
		number := index.AppendString(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Number_unique"), o.Number)
		have, owner := tx.Get(record), tx.Get(number)
		if value, err := have.Get(ctx); err != nil || value != nil {
			return err
		}
		if value, err := owner.Get(ctx); err != nil || value != nil {
			return err
		}
		value, err := appendOrder(make([]byte, 10, 80), o)
		if err != nil {
			return err
		}
		status := index.AppendInt(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Status"), o.Status)
		created := index.AppendInt(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Status_CreatedAt"), o.Status)
		tx.Set(record, value)
		tx.Set(number, id)
		tx.Set(append(status, id...), nil)
		tx.Set(append(index.AppendTime(created, o.CreatedAt), id...), nil)
		return nil
	})
}

// BenchmarkScattered compares 10,000 records that are scattered with the same
// that are not.
func BenchmarkScattered(b *testing.B) {
	for _, shards := range []index.Shards{0, 4, 16, 64, 256} {
		s := sharded(open(b, enginetest.Open(b)), "a", shards, shards)
		var ids []string
		for i := range 10_000 {
			a := NewArticle(Article{Section: "s", Slug: strconv.Itoa(i), Published: day0.Add(time.Duration(i)), Body: []byte("body")})
			if err := s.Create(ctx, a); err != nil {
				b.Fatal(err)
			}
			ids = append(ids, a.ID)
		}
		for name, c := range map[string]struct {
			want int
			ask  func() ([]*Article, error)
		}{
			"last 20, index":  {20, func() ([]*Article, error) { return s.OrderedByPublished().Reverse().Limit(20).Slice(ctx) }},
			"last 20, cover":  {20, func() ([]*Article, error) { return s.BySectionPublished("s").Reverse().Limit(20).Slice(ctx) }},
			"last 20, id":     {20, func() ([]*Article, error) { return s.Scan().Reverse().Limit(20).Slice(ctx) }},
			"last 500, index": {500, func() ([]*Article, error) { return s.OrderedByPublished().Reverse().Limit(500).Slice(ctx) }},
			"all, id":         {10_000, func() ([]*Article, error) { return s.Scan().Slice(ctx) }},
			"all, cover":      {10_000, func() ([]*Article, error) { return s.BySectionPublished("s").Slice(ctx) }},
			"get":             {1, func() ([]*Article, error) { a, err := s.Get(ctx, ids[4711]); return []*Article{a}, err }},
		} {
			b.Run(name+"/"+strconv.Itoa(int(shards)), func(b *testing.B) {
				for b.Loop() {
					if all, err := c.ask(); err != nil || len(all) != c.want {
						b.Fatal(len(all), err)
					}
				}
			})
		}
		i := 10_000
		b.Run("create/"+strconv.Itoa(int(shards)), func(b *testing.B) {
			for b.Loop() {
				i++
				if err := s.Create(ctx, NewArticle(Article{Section: "s", Slug: strconv.Itoa(i), Published: day0.Add(time.Duration(i)), Body: []byte("body")})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
