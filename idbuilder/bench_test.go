// SPDX-License-Identifier: Apache-2.0

package idbuilder_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkHTTP compares requests over loopback, on connections that are kept,
// with a handler that answers a constant of the same size.
func BenchmarkHTTP(b *testing.B) {
	s := start(b, options())
	s.admin("POST", "/v1/config/increment", `{"key": "orders", "base": 0}`)
	token := s.admin("GET", "/v1/auth/token?key=orders", "").data["token"].(string)
	for _, size := range []int{1, 1000} {
		target := fmt.Sprintf("/v1/id/increment?key=orders&size=%d", size)
		constant := s.admin("GET", target, "").text
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

// BenchmarkHandler is what the worker adds to net/http.
func BenchmarkHandler(b *testing.B) {
	s := start(b, options())
	s.admin("POST", "/v1/config/increment", `{"key": "orders", "base": 0}`)
	r := httptest.NewRequest(http.MethodGet, "/v1/id/increment?key=orders", nil)
	r.Header.Set("Authorization", "Bearer "+s.admin("GET", "/v1/auth/token?key=orders", "").data["token"].(string))
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
