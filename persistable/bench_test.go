// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
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
		number := persistimpl.AppendString(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Number_unique"), o.Number)
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
		status := persistimpl.AppendInt(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Status"), o.Status)
		created := persistimpl.AppendInt(tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), "I"), "Order_Status_CreatedAt"), o.Status)
		tx.Set(record, value)
		tx.Set(number, id)
		tx.Set(append(status, id...), nil)
		tx.Set(append(persistimpl.AppendTime(created, o.CreatedAt), id...), nil)
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

// benchRecords is the environment variable with the number of records of
// BenchmarkBuildBesideWriters. The default value is 20,000.
const benchRecords = "KAZAHANA_BUILD_RECORDS"

// BenchmarkBuildBesideWriters builds an index of values, a count and a unique index over
// records on a disk while 16 goroutines write. It reports records per second, how many
// writes the goroutines made in a second before, during and after the build, and the
// most memory in use. Before the build the writes maintain no index; after it they
// maintain the same indexes as during it, so that quotient is the price of the build.
func BenchmarkBuildBesideWriters(b *testing.B) {
	records := 20_000
	if text := os.Getenv(benchRecords); text != "" {
		records = must[int](b)(strconv.Atoi(text))
	}
	engine := must[*embedded.Database](b)(embedded.Open(b.TempDir()))
	defer engine.Close()
	db := open(b, engine)
	old, s := kindStore(db, 0), kindStore(db, 0, valueOfTags, countBySection, uniqueSlug)
	loadArticles(b, db, old, records)
	for b.Loop() {
		var writes atomic.Int64
		stop := writeUntil(b, s, records, &writes)
		before := rateFor(3*time.Second, &writes)
		peak, begun := watchMemory(), time.Now()
		writes.Store(0)
		check(b, s.Indexes().Build(ctx, persistable.BuildOptions{Workers: 2}))
		took := time.Since(begun).Seconds()
		during, most := float64(writes.Load())/took, peak()
		after := rateFor(3*time.Second, &writes)
		stop()
		b.ReportMetric(float64(records)/took, "records/s")
		b.ReportMetric(before, "writes/s-before")
		b.ReportMetric(during, "writes/s-during")
		b.ReportMetric(after, "writes/s-after")
		b.ReportMetric(after/during, "slow-down")
		b.ReportMetric(float64(most)/(1<<20), "MB-heap-peak")
	}
}

// rateFor waits for d and returns how many writes were made in a second.
func rateFor(d time.Duration, writes *atomic.Int64) float64 {
	begun := time.Now()
	writes.Store(0)
	time.Sleep(d)
	return float64(writes.Load()) / time.Since(begun).Seconds()
}

// loadArticles creates records in transactions of a thousand.
func loadArticles(b *testing.B, db *persistable.DB, s *ArticleStore, n int) {
	for from := 0; from < n; from += 1000 {
		var articles []*Article
		for i := from; i < min(from+1000, n); i++ {
			articles = append(articles, benchArticle(i))
		}
		check(b, db.Transact(ctx, func(tx persistable.Tx) error {
			for _, a := range articles {
				if err := s.In(tx).Create(ctx, a); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func benchArticle(i int) *Article {
	a := smallArticle(i)
	a.ID, a.Slug, a.Body = fmt.Sprintf("%09d", i), fmt.Sprint(i), make([]byte, 100)
	return a
}

// writeUntil lets 16 goroutines save records at random places until the returned
// function is called. Every save changes its record, and with it a count.
func writeUntil(b *testing.B, s *ArticleStore, records int, writes *atomic.Int64) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for w := range 16 {
		group.Go(func() {
			for n := 0; running.Err() == nil; n++ {
				a := benchArticle(16*rand.IntN(records/16) + w)
				a.Section, a.Published = fmt.Sprint("s", n%5), day0.Add(time.Duration(n)*time.Second)
				if err := s.Save(ctx, a); err != nil {
					b.Error(err)
					return
				}
				writes.Add(1)
			}
		})
	}
	return func() { cancel(); group.Wait() }
}

// watchMemory notes the heap in use until the returned function is called, which
// returns the most.
func watchMemory() (peak func() uint64) {
	done := make(chan struct{})
	result := make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-tick.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() uint64 { close(done); return <-result }
}

// exportRecords is the environment variable with the number of records of
// BenchmarkExport. The default value is 20,000.
const exportRecords = "KAZAHANA_EXPORT_RECORDS"

// BenchmarkExport reads all records on a disk across transactions: by id and through an
// index, in one piece and in parts, each by a goroutine of its own. It reports records per
// second and the most memory in use, with that of the engine, which is told for the time
// before, too.
func BenchmarkExport(b *testing.B) {
	records := 20_000
	if text := os.Getenv(exportRecords); text != "" {
		records = must[int](b)(strconv.Atoi(text))
	}
	dir := b.TempDir()
	loadExport(b, dir, records)
	engine := must[*embedded.Database](b)(embedded.Open(dir))
	defer engine.Close()
	s := version(open(b, engine), published)
	for _, c := range []struct {
		name  string
		query *persistable.Query[*Article]
	}{{"records", s.Scan()}, {"index", byIndex(s, 0)}} {
		for _, parts := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("%s/parts=%d", c.name, parts), func(b *testing.B) { benchmarkExport(b, c.query, parts, records) })
		}
	}
}

// loadExport creates the records with an engine of its own, so that the memory of the
// load is not counted.
func loadExport(b *testing.B, dir string, records int) {
	engine := must[*embedded.Database](b)(embedded.Open(dir))
	db := must[*persistable.DB](b)(persistable.Open(ctx, engine))
	loadArticles(b, db, version(db, published), records)
	check(b, db.Close())
	check(b, engine.Close())
}

func benchmarkExport(b *testing.B, q *persistable.Query[*Article], parts, records int) {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak, begun := watchMemory(), time.Now()
	for b.Loop() {
		var read atomic.Int64
		var group sync.WaitGroup
		for _, part := range must[[]*persistable.Scan[*Article]](b)(persistable.Across(q, "").Split(ctx, parts)) {
			group.Go(func() {
				n := int64(0)
				for _, err := range part.All(ctx) {
					if err != nil {
						b.Error(err)
						return
					}
					n++
				}
				read.Add(n)
			})
		}
		group.Wait()
		if read.Load() != int64(records) {
			b.Fatalf("%d records are exported", read.Load())
		}
	}
	b.ReportMetric(float64(records*b.N)/time.Since(begun).Seconds(), "records/s")
	b.ReportMetric(float64(peak())/(1<<20), "MB-heap-peak")
	b.ReportMetric(float64(before.HeapInuse)/(1<<20), "MB-heap-before")
}

// BenchmarkCreateWithForeignIndex compares what an index costs a program that has it in
// its code, and one that maintains it from stored bytes.
func BenchmarkCreateWithForeignIndex(b *testing.B) {
	for name, program := range map[string][]int{"no index": nil, "own": {published}, "foreign": nil} {
		b.Run(name, func(b *testing.B) {
			db := open(b, enginetest.Open(b))
			if name != "no index" {
				articles(b, version(db, published), 1)
			}
			s := version(db, program...)
			b.ReportAllocs()
			for b.Loop() {
				check(b, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"a", "b"}, Published: day0})))
			}
		})
	}
}
