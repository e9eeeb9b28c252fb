// SPDX-License-Identifier: Apache-2.0

package embedded

import (
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

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
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

// TestMetricsOfFaults reads the metrics of a database whose disk has failed.
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

// TestMetricsInMemory reads the metrics of a database in memory beside commits.
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
