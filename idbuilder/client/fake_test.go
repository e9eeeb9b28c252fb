// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// direct answers requests without a network, so that it can be used in a bubble of
// synctest.
type direct func(w http.ResponseWriter, r *http.Request)

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	d(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

// answer writes an answer of the service.
func answer(w http.ResponseWriter, data any) {
	_ = json.NewEncoder(w).Encode(api.Reply[any]{Message: api.Success, Data: data})
}

// refuse writes a refusal of the service.
func refuse(w http.ResponseWriter, status int, code api.Code) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Reply[any]{Code: code, Message: "refused by the test"})
}

// counter answers requests for increment IDs with the numbers after last.
type counter struct {
	mu    sync.Mutex
	last  int64
	sizes []int // of the requests
	delay time.Duration
	most  int // IDs in an answer; 0: as many as were asked for
}

func (c *counter) serve(w http.ResponseWriter, r *http.Request) {
	time.Sleep(c.delay)
	size, _ := strconv.Atoi(r.URL.Query().Get("size"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes = append(c.sizes, size)
	if c.most > 0 {
		size = min(size, c.most)
	}
	ids := make([]int64, size)
	for i := range ids {
		c.last++
		ids[i] = c.last
	}
	answer(w, api.Numbers{ID: ids, IDs: ids})
}

func (c *counter) lastGiven() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// restart lets the numbers begin after last, with at most so many in an answer.
func (c *counter) restart(last int64, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.most = last, most
}

func (c *counter) requestSizes() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sizes)
}

// leases answers requests for leases of snowflake keys: without overlaps, by the clock of the test.
type leases struct {
	mu       sync.Mutex
	now      func() time.Time
	duration time.Duration
	free     int64            // the next worker id
	held     map[string]int64 // worker ids by lease key
	queries  []string
	down     bool
}

func newLeases(now func() time.Time) *leases {
	return &leases{now: now, duration: 30 * time.Second, held: map[string]int64{}}
}

func (l *leases) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queries = append(l.queries, r.URL.RawQuery)
	if l.down {
		refuse(w, http.StatusServiceUnavailable, api.Unavailable)
		return
	}
	key := r.URL.Query().Get("lease_key")
	worker, ok := l.held[key]
	if !ok {
		worker, key = l.free, fmt.Sprintf("lease-%d", l.free)
		l.free++
		l.held[key] = worker
	}
	now := l.now()
	answer(w, api.Snowflake{
		SkipSize: 1, BaseTS: base.UnixMilli(), TSSize: 41, WorkerID: worker, WorkerIDSize: 10, SeqSize: 12,
		LeaseKey: key, LeaseDuration: l.duration.Seconds(), LeaseStart: now.UnixMilli(), LeaseExpires: now.Add(l.duration).UnixMilli(),
	})
}

func (l *leases) change(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *leases) requestedKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queries
}

var base = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) // bubbles of synctest begin in 2000
