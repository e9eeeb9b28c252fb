// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// BenchmarkHTTP compares requests over loopback, on connections that are kept,
// with a handler that answers a constant of the same size.
func BenchmarkHTTP(b *testing.B) {
	s := start(b, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "base": 0}`)
	token := s.sendAsAdmin("GET", "/v1/auth/token?key=orders", "").data["token"].(string)
	for _, size := range []int{1, 1000} {
		target := fmt.Sprintf("/v1/id/increment?key=orders&size=%d", size)
		constant := s.sendAsAdmin("GET", target, "").text
		bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, constant)
		})
		for name, handler := range map[string]http.Handler{"bare": bare, "worker": s.Worker} {
			b.Run(fmt.Sprintf("size=%d/%s", size, name), func(b *testing.B) { requests(b, handler, target, token) })
		}
	}
}

func requests(b *testing.B, h http.Handler, target, token string) {
	server := httptest.NewServer(h)
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	defer transport.CloseIdleConnections()
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, _ := http.NewRequest(http.MethodGet, server.URL+target, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		for pb.Next() {
			response, err := transport.RoundTrip(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	})
}

// BenchmarkHandler measures what the worker adds to net/http.
func BenchmarkHandler(b *testing.B) {
	s := start(b, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "base": 0}`)
	r := httptest.NewRequest(http.MethodGet, "/v1/id/increment?key=orders", nil)
	r.Header.Set("Authorization", "Bearer "+s.sendAsAdmin("GET", "/v1/auth/token?key=orders", "").data["token"].(string))
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(w, r)
	}
	if w.status != http.StatusOK || !strings.HasPrefix(w.last, `{"code":0`) {
		b.Error(w.status, w.last)
	}
}

// discard keeps the last answer.
type discard struct {
	header http.Header
	status int
	last   string
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }
func (d *discard) Write(p []byte) (int, error) {
	if d.last == "" {
		d.last = string(p)
	}
	return len(p), nil
}

// BenchmarkMemory measures the memory that a worker uses for a key, and checks that it
// frees the memory of idle keys. The store's memory is not counted.
func BenchmarkMemory(b *testing.B) {
	const keys = 100_000
	o := options()
	o.Idle = 20 * time.Second
	s := start(b, o)
	for i := range keys {
		c := idconfig.Config{Key: fmt.Sprint("orders-", i), Type: idconfig.TypeIncrement, Increment: &idconfig.Increment{Delta: 1, MaxRequestDelta: 100, Max: math.MaxInt64}}
		value, err := c.Encode()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.store.Put(b.Context(), store.Configs, store.Document{Key: c.Key, Type: string(c.Type), Value: value}); err != nil {
			b.Fatal(err)
		}
		if _, err := s.store.Reserve(b.Context(), c.Key, c.Increment.Reservation(1)); err != nil {
			b.Fatal(err)
		}
	}
	before := heap()
	for i := range keys {
		if _, err := s.Increment(b.Context(), nil, worker.IncrementRequest{Key: fmt.Sprint("orders-", i), Size: 1}); err != nil {
			b.Fatal(err)
		}
	}
	used := heap() - before
	for b.Loop() { // nothing to time
	}
	time.Sleep(2 * o.Idle)
	b.ReportMetric(float64(used)/keys, "bytes/key")
	b.ReportMetric(float64(heap()-before)/keys, "bytes/idle-key")
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
