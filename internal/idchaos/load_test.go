// SPDX-License-Identifier: Apache-2.0

package idchaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// target is a worker that gets requests.
type target struct {
	*node
	address string
	client  *http.Client
	orders  atomic.Pointer[generationOrder]
}

// generationOrder is the order of a worker's numbers since it was started.
type generationOrder struct {
	generation int64
	order
}

func (w *target) orderOf(generation int64) *order {
	o := w.orders.Load()
	if o == nil || o.generation != generation {
		next := &generationOrder{generation: generation, order: order{last: map[string]int64{}}}
		if !w.orders.CompareAndSwap(o, next) {
			return &w.orders.Load().order
		}
		return &next.order
	}
	return &o.order
}

// load sends requests to workers until the run ends.
type load struct {
	*chaos
	random    *rand.Rand
	leaseKeys []string // of this goroutine's snowflake clients
}

func (l *load) run(ctx context.Context) {
	for ctx.Err() == nil && l.ledger.count() < l.enough {
		w := l.targets[l.random.IntN(len(l.targets))]
		if w.disturbed.Load() {
			continue
		}
		switch n := l.random.IntN(100); {
		case n < 80:
			l.requestNumbers(w)
		case n < 97:
			l.requestTexts(w)
		default:
			l.requestLease(w)
		}
	}
}

// requestNumbers requests numbers, and checks their order.
func (l *load) requestNumbers(w *target) {
	key := keys[l.random.IntN(len(keys))]
	size := 1 + l.random.IntN(5)
	if l.random.IntN(2) == 0 {
		size = 1 + l.random.IntN(1000)
	}
	generation := w.generation.Load()
	o := w.orderOf(generation)
	least, known := o.before(key)
	var data api.Numbers
	if !l.ask(w, generation, fmt.Sprintf("/v1/id/increment?key=%s&size=%d", key, size), &data) {
		return
	}
	l.ledger.addNumbers(key, data.ID, w.address)
	if len(data.ID) != size || !slices.Equal(data.ID, data.IDs) {
		l.t.Errorf("asked for %d numbers, the answer is %v", size, data)
		return
	}
	ascending := slices.Clone(data.ID)
	if key == "descending" {
		for i := range ascending {
			ascending[i] = -ascending[i]
		}
	}
	for i := range ascending {
		if i > 0 && ascending[i] <= ascending[i-1] {
			l.t.Errorf("%s: the answer is not in order: %v", key, data.ID)
			return
		}
	}
	if w.generation.Load() != generation {
		return // the worker was restarted in the meantime
	}
	if known && ascending[0] <= least {
		l.t.Errorf("%s: %d came from %s after %d had come", key, ascending[0], w.address, least)
	}
	o.after(key, ascending[size-1])
}

func (l *load) requestTexts(w *target) {
	var data api.Texts
	size := 1 + l.random.IntN(40)
	if l.ask(w, w.generation.Load(), fmt.Sprintf("/v1/id/formatted?name=bills&count=%d", size), &data) {
		l.ledger.addTexts(data.ID, w.address)
	}
}

// requestLease leases a worker id for a new client, or renews the lease of one.
func (l *load) requestLease(w *target) {
	path, known := "/v1/id/snowflake?key=events", ""
	if n := len(l.leaseKeys); n > 0 && l.random.IntN(4) > 0 {
		known = l.leaseKeys[l.random.IntN(n)]
		path += "&lease_key=" + known
	} else {
		path += "&renews=true"
	}
	var data api.Snowflake
	if !l.ask(w, w.generation.Load(), path, &data) {
		return
	}
	if i := slices.Index(l.leaseKeys, known); known != "" && i >= 0 && data.LeaseKey != known {
		l.leaseKeys = slices.Delete(l.leaseKeys, i, i+1)
	}
	if !slices.Contains(l.leaseKeys, data.LeaseKey) {
		l.leaseKeys = append(l.leaseKeys, data.LeaseKey)
	}
	if len(l.leaseKeys) > 8 {
		l.leaseKeys = l.leaseKeys[1:]
	}
	l.ledger.addLease(data.WorkerID, data.LeaseKey, data.LeaseStart, data.LeaseExpires)
}

// ask sends a request and decodes the answer. A request may fail only if its worker was
// disturbed, and be refused only if the store was, or if all worker ids are leased.
func (l *load) ask(w *target, generation int64, path string, data any) bool {
	storeGeneration := l.store.Load()
	request, err := http.NewRequest(http.MethodGet, "http://"+w.address+path, nil)
	if err != nil {
		l.t.Error(err)
		return false
	}
	request.Header.Set("Authorization", adminToken)
	l.requests.Add(1)
	begun := time.Now()
	response, err := w.client.Do(request)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err != nil {
		if w.generation.Load() == generation && !w.disturbed.Load() {
			l.t.Errorf("%s%s: no answer after %v: %v", w.address, path, time.Since(begun), err)
		}
		l.lost.Add(1)
		return false
	}
	return l.decodeAnswer(w, path, storeGeneration, response.Header.Get("X-Trace-Id"), body, data)
}

func (l *load) decodeAnswer(w *target, path string, storeGeneration int64, trace string, body []byte, data any) bool {
	reply := struct {
		Code    api.Code
		Message string
		Data    any
	}{Data: data}
	if err := json.Unmarshal(body, &reply); err != nil {
		l.t.Errorf("%s%s: %v in %s", w.address, path, err, body)
		return false
	}
	if reply.Code == api.OK {
		return true
	}
	l.refused.Add(1)
	disturbed := l.store.Load() != storeGeneration || storeGeneration%2 == 1 || time.Since(time.Unix(0, l.storeBack.Load())) < 5*time.Second
	full := reply.Code == api.Exhausted && strings.Contains(path, "snowflake")
	if !(reply.Code == api.Unavailable && disturbed) && !full {
		l.t.Errorf("%s%s: %s, %v after the store was back\n%v", w.address, path, body, time.Since(time.Unix(0, l.storeBack.Load())), w.log.lines(trace))
	}
	return false
}

func (l *ledger) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}
