// SPDX-License-Identifier: Apache-2.0

// Package service measures the ID service over HTTP on each of its stores, and a bare
// net/http handler in the same run.
//
//	cd bench && go test ./service -run xxx -bench Service -benchtime 3s -count 5
package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const adminToken = "an-admin-token-for-benchmarks"

// stores open each kind of store, durable as in production.
var stores = map[string]func(b *testing.B) (store.Store, error){
	"embedded": func(b *testing.B) (store.Store, error) {
		db, err := embedded.Open(b.TempDir())
		if err != nil {
			return nil, err
		}
		b.Cleanup(func() { _ = db.Close() })
		return kvstore.New(db, kvstore.Options{})
	},
	"file": func(b *testing.B) (store.Store, error) { return file.Open(b.TempDir(), file.Options{}) },
	"redis": func(b *testing.B) (store.Store, error) {
		s := servers.StartRedis(b, "--appendonly", "yes", "--appendfsync", "always")
		return redis.New(goredis.NewClient(&goredis.Options{Addr: s.Addr}), redis.Options{Durable: true})
	},
	"postgres": func(b *testing.B) (store.Store, error) {
		s := servers.StartPostgres(b, "-c", "fsync=on", "-c", "synchronous_commit=on")
		return postgres.Open(postgres.Options{URL: s.NewDatabase(b)})
	},
	"mariadb": func(b *testing.B) (store.Store, error) {
		s := servers.StartMariaDB(b, "--innodb-flush-log-at-trx-commit=1")
		return mysql.Open(mysql.Options{URL: s.NewDatabase(b)})
	},
}

// BenchmarkService sends one request at a time on each of 16 connections. It reports requests
// and IDs a second, the 99th percentile, and the requests that waited for the store.
func BenchmarkService(b *testing.B) {
	for _, size := range []int{1, 1000} {
		target := fmt.Sprintf("/v1/id/increment?key=orders&size=%d", size)
		var constant string
		for _, name := range []string{"embedded", "file", "redis", "postgres", "mariadb"} {
			b.Run(fmt.Sprintf("size=%d/%s", size, name), func(b *testing.B) {
				w := open(b, name)
				if constant == "" {
					constant = ask(b, w, target)
				}
				before := waited(b, w)
				measureRate(b, w, target, size)
				b.ReportMetric(float64(waited(b, w)-before), "waits")
			})
		}
		b.Run(fmt.Sprintf("size=%d/bare", size), func(b *testing.B) {
			measureRate(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, constant)
			}), target, size)
		})
	}
}

// open returns a worker on a store, with a key that was used for a second, as in a
// steady state.
func open(b *testing.B, name string) *idbuilder.Worker {
	b.Helper()
	s, err := stores[name](b)
	if err == nil {
		err = s.Init(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	w, err := idbuilder.NewWorker(s, idbuilder.Options{AdminToken: adminToken, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = w.Close(context.Background())
		_ = s.Close()
	})
	r := httptest.NewRequest(http.MethodPost, "/v1/config/increment", strings.NewReader(`{"key": "orders", "base": 0}`))
	r.Header.Set("Authorization", adminToken)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		b.Fatal(rec.Body)
	}
	for begun := time.Now(); time.Since(begun) < time.Second; {
		ask(b, w, "/v1/id/increment?key=orders&size=1000")
	}
	return w
}

func ask(b *testing.B, h http.Handler, target string) string {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Authorization", adminToken)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		b.Fatal(rec.Body)
	}
	return rec.Body.String()
}

// waited returns how many requests have waited for the store.
func waited(b *testing.B, w *idbuilder.Worker) (n int64) {
	for line := range strings.Lines(ask(b, w, "/metrics")) {
		if rest, ok := strings.CutPrefix(line, "idbuilder_requests_that_waited_total "); ok {
			var f float64
			if _, err := fmt.Sscan(rest, &f); err != nil {
				b.Fatal(err)
			}
			n = int64(f)
		}
	}
	return n
}

// measureRate asks from 16 goroutines, each on a connection of its own.
func measureRate(b *testing.B, h http.Handler, target string, size int) {
	server := httptest.NewServer(h)
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var mu sync.Mutex
	var all []time.Duration
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		r, _ := http.NewRequest(http.MethodGet, server.URL+target, nil)
		r.Header.Set("Authorization", adminToken)
		var mine []time.Duration
		for pb.Next() {
			begun := time.Now()
			response, err := transport.RoundTrip(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				b.Error(response.Status)
			}
			mine = append(mine, time.Since(begun))
		}
		mu.Lock()
		all = append(all, mine...)
		mu.Unlock()
	})
	b.StopTimer()
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "ids/s")
}
