// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
		check(b, s.Indexes().BuildWith(ctx, persistable.BuildOptions{Workers: 2}))
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
