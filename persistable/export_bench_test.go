// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

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
