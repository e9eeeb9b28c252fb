// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

var _ expvar.Var = Metrics{}

// TestHistogram compares counts, sums and quantiles with a sorted list.
func TestHistogram(t *testing.T) {
	random := seed.Rand(t)
	var h commitlog.Histogram
	if got := readHistogram(&h, int64(1)); got.Mean() != 0 || got.Quantile(0.5) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	var values []int64
	var sum int64
	for range 1000 {
		v := random.Int64N(1 << random.IntN(40))
		h.Add(v)
		values, sum = append(values, v), sum+v
	}
	slices.Sort(values)
	got := readHistogram(&h, int64(16))
	if got.Count != 1000 || got.Sum != sum || got.Max != values[999] || got.Mean() != sum/1000 {
		t.Errorf("%d values, sum %d, highest %d: %+v", len(values), sum, values[999], got)
	}
	if got.Buckets[0].UpTo != 16 || got.Buckets[len(got.Buckets)-1].Count != 1000 {
		t.Errorf("the buckets are %v", got.Buckets)
	}
	for _, b := range got.Buckets {
		n, _ := slices.BinarySearch(values, b.UpTo+1)
		if b.Count != int64(n) {
			t.Errorf("%d values up to %d, want %d", b.Count, b.UpTo, n)
		}
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		want := values[int(q*1000)-1]
		if v := got.Quantile(q); v < want || v > max(2*want, 16) {
			t.Errorf("quantile %v is %d, want %d or up to twice that", q, v, want)
		}
	}
}

// TestMetrics does known things and reads the metrics.
func TestMetrics(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	key := []byte("key")
	for range 10 {
		transact(t, db, func(tx kv.Transaction) { tx.Set(key, key) })
	}
	reader := begin(t, db)
	if _, err := reader.Get(key).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set(key, nil) })
	reader.Set(key, nil)
	err := reader.Commit(t.Context())
	if !kv.IsConflict(err) {
		t.Fatalf("the commit gets %v", err)
	}
	if err := reader.OnError(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	reader = begin(t, db)
	if err := reader.SetOption(kv.OptionReportConflictingKeys, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Get(key).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set(key, nil) })
	reader.Set(key, nil)
	if err := reader.Commit(t.Context()); !kv.IsConflict(err) {
		t.Fatalf("the commit that reports its conflicts gets %v", err)
	}
	watching := begin(t, db)
	watching.Watch(key)
	if err := watching.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	backupTest(t, db, "backup")

	m := db.Metrics()
	if m.Commits != 12 || m.Conflicts != 2 || m.Retries != 1 || m.TooOld != 0 || m.Failed != 0 || m.Watches != 1 || m.Backups != 1 {
		t.Errorf("12 commits, 2 conflicts, 1 retry, 1 watch, 1 backup: %v", m)
	}
	if m.BatchSize.Count != 12 || m.BatchSize.Sum != 12 || m.BatchSize.Max != 1 {
		t.Errorf("12 batches of one: %+v", m.BatchSize)
	}
	if m.Sync.Count < 12 || m.Sync.Max <= 0 || m.Sync.Sum < m.Sync.Max {
		t.Errorf("a sync each: %+v", m.Sync)
	}
	if m.WindowWrites != 12 || m.WindowBytes < 12*mvcc.WriteCost || m.AbsorbedWrites != 0 || m.LogBytes == 0 || m.LogSegments == 0 {
		t.Errorf("12 writes are in the window: %v", m)
	}
	if m.Views < 1 || m.OldestVersion > m.Version || m.Fault != "" || m.Delayed {
		t.Errorf("the versions are wrong, or the state: %v", m)
	}

	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	after := db.Metrics()
	if after.WindowWrites != 0 || after.WindowBytes != 0 || after.AbsorbedWrites != 12 || after.AbsorbedVersion < m.AbsorbedVersion+1 {
		t.Errorf("all is absorbed: %v", after)
	}
	if after.BaseBytes == 0 || after.BaseMemory == 0 {
		t.Errorf("the base has nothing: %v", after)
	}
	var decoded Metrics
	if err := json.Unmarshal([]byte(after.String()), &decoded); err != nil || decoded.Commits != 12 {
		t.Errorf("as JSON: %v, %v", after, err)
	}
	closeTest(t, db)
	if m := db.Metrics(); m.Commits != 12 {
		t.Errorf("after Close: %v", m)
	}
}

// TestMetricsOfFaults reads the metrics of a database with a failed disk.
func TestMetricsOfFaults(t *testing.T) {
	fs := newFaultyFS(vfs.NewMem(), onLog(errorfs.OpFileSyncData))
	db := openTest(t, crashOptions(fs, false))
	if err := commitNumbered(t, db, 1); err != nil {
		t.Fatal(err)
	}
	fs.left.Store(0)
	if err := commitNumbered(t, db, 2); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatal(err)
	}
	if err := commitNumbered(t, db, 3); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatal(err)
	}
	if m := db.Metrics(); m.Fault == "" || m.Failed != 2 || m.Commits != 1 {
		t.Errorf("after a fault: %v", m)
	}
	_ = db.Close() // it may say what has failed
}

// TestMetricsInMemory reads the metrics of a database in memory while it commits.
func TestMetricsInMemory(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				//persistvet:ignore freshvalue any key will do
				transact(t, db, func(tx kv.Transaction) { tx.Set([]byte{byte(rand.IntN(200))}, nil) })
				if m := db.Metrics(); m.Commits == 0 || m.LogBytes != 0 || m.Sync.Count != 0 {
					t.Errorf("after a commit: %v", m)
				}
			}
		})
	}
	wg.Wait()
	if m := db.Metrics(); m.Commits != 800 || m.BatchSize.Sum != 800 {
		t.Errorf("after 800 commits: %v", m)
	}
	if got := readHistogram[time.Duration](&commitlog.Histogram{}, time.Microsecond); got.Count != 0 || got.Quantile(1) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

// traceList lists what a tracer is told.
type traceList struct {
	reads   []Trace
	writes  []Trace
	commits []Trace
	retries []Trace
}

func (l *traceList) tracer() *Tracer {
	return &Tracer{
		Read:   func(r Trace) { l.reads = append(l.reads, r) },
		Write:  func(w Trace) { l.writes = append(l.writes, w) },
		Commit: func(c Trace) { l.commits = append(l.commits, c) },
		Retry:  func(r Trace) { l.retries = append(l.retries, r) },
	}
}

// TestTracer makes a transaction that conflicts once, and looks at what the tracer
// is told of it.
func TestTracer(t *testing.T) {
	var told traceList
	db, err := OpenMemory(Options{Tracer: told.tracer(), Transactions: kv.TransactionOptions{ReportConflictingKeys: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	ctx := t.Context()
	a := kv.KeyRange{Begin: []byte("a"), End: []byte("a\x00")}
	tx := begin(t, db)
	defer tx.Cancel()
	for attempt := range 2 {
		if _, err := tx.Get([]byte("a")).Get(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Snapshot().GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("c")}.Selectors(), kv.RangeOptions{}).Slice(ctx); err != nil {
			t.Fatal(err)
		}
		tx.Atomic(kv.Add, []byte("b"), []byte{1})
		if attempt == 0 {
			transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("a"), []byte("other")) })
		}
		if err := tx.Commit(ctx); err != nil {
			if err := tx.OnError(ctx, err); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := traceList{
		reads: []Trace{
			{Transaction: 1, Attempt: 1, Method: "Get", Range: kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(a.Begin)}},
			{Transaction: 1, Attempt: 1, Method: "GetRange", Snapshot: true, Range: kv.KeyRange{Begin: a.Begin, End: []byte("c")}.Selectors()},
			{Transaction: 1, Attempt: 2, Method: "Get", Range: kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(a.Begin)}, Pairs: 1, Bytes: 6},
			{Transaction: 1, Attempt: 2, Method: "GetRange", Snapshot: true, Range: kv.KeyRange{Begin: a.Begin, End: []byte("c")}.Selectors(), Pairs: 1, Bytes: 6},
			// The batch before ended at the first key that the transaction did not know.
			{Transaction: 1, Attempt: 2, Method: "GetRange", Snapshot: true, Range: kv.SelectorRange{Begin: kv.FirstGreaterThan(a.Begin), End: kv.FirstGreaterOrEqual([]byte("c"))}},
		},
		writes: []Trace{
			{Transaction: 1, Attempt: 1, Method: "Atomic", Keys: kv.KeyRange{Begin: []byte("b"), End: []byte("b\x00")}, Bytes: 1},
			{Transaction: 2, Attempt: 1, Method: "Set", Keys: a, Bytes: 5},
			{Transaction: 1, Attempt: 2, Method: "Atomic", Keys: kv.KeyRange{Begin: []byte("b"), End: []byte("b\x00")}, Bytes: 1},
		},
	}
	if diff := cmp.Diff(want.reads, told.reads, cmpopts.IgnoreTypes(time.Duration(0))); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.writes, told.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if c := told.commits; len(c) != 3 || c[0].Method != "Commit" || c[0].Err != nil || kv.CodeOf(c[1].Err) != kv.CodeNotCommitted || c[1].Version != -1 || c[2].Err != nil || c[2].Version <= c[0].Version {
		t.Errorf("commits %+v", c)
	} else if diff := cmp.Diff([]kv.KeyRange{a}, c[1].Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if r := told.retries; len(r) != 1 || r[0].Transaction != 1 || r[0].Attempt != 1 || r[0].Method != "OnError" || kv.CodeOf(r[0].Cause) != kv.CodeNotCommitted || r[0].Err != nil {
		t.Errorf("retries %+v", r)
	}
}

// TestTracerConformance runs the conformance suite on a database with a tracer: a
// program sees no difference.
func TestTracerConformance(t *testing.T) {
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database {
		db, err := OpenMemory(Options{Tracer: &Tracer{
			Read: func(Trace) {}, Write: func(Trace) {}, Commit: func(Trace) {}, Retry: func(Trace) {},
		}})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		return db
	})
}

// TestNoTracer checks that transactions are not wrapped where there is no tracer.
func TestNoTracer(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	if tx, ok := begin(t, db).(*tracerTransaction); ok {
		t.Fatalf("without a tracer Begin returns a %T", tx)
	}
}

// BenchmarkTracer makes a transaction of one read without a tracer, and with one.
func BenchmarkTracer(b *testing.B) {
	for name, tracer := range map[string]*Tracer{"none": nil, "read": {Read: func(Trace) {}}} {
		b.Run(name, func(b *testing.B) {
			db, err := OpenMemory(Options{Tracer: tracer})
			if err != nil {
				b.Fatal(err)
			}
			defer closeTest(b, db)
			b.ReportAllocs()
			for b.Loop() {
				_ = db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
					_, err := tx.Get([]byte("key")).Get(context.Background())
					return err
				})
			}
		})
	}
}
