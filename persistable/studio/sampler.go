// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"encoding/json"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// maxSamples is how many samples are kept: ten minutes of one a second.
const maxSamples = 600

// sample is what the charts show of an engine at a moment. Counts are since it was opened.
type sample struct {
	Time        time.Time `json:"time"`
	Commits     int64     `json:"commits"`
	Conflicts   int64     `json:"conflicts"`
	SyncMs      float64   `json:"syncMs"` // sum of all syncs
	Syncs       int64     `json:"syncs"`
	Queued      int64     `json:"queued"`
	WindowBytes int64     `json:"windowBytes"`
	LogBytes    int64     `json:"logBytes"`
	BaseBytes   int64     `json:"baseBytes"`
	CacheBytes  int64     `json:"cacheBytes"`
	CacheHits   int64     `json:"cacheHits"`
	CacheMisses int64     `json:"cacheMisses"`
	Watches     int64     `json:"watches"`
}

// measures are what a sample takes from embedded.Metrics.
type measures struct {
	Commits, Conflicts                              int64
	Sync                                            struct{ Count, Sum int64 } // nanoseconds
	QueuedCommits, WindowBytes, LogBytes, BaseBytes int64
	BaseCacheBytes, BaseCacheHits, BaseCacheMisses  int64
	Watches                                         int64
}

// meterOf returns the method Metrics of the embedded engine, nil for another engine. It is found by its name: the
// type of its result would make every program with a page link the embedded engine.
func meterOf(engine kv.Database) func() any {
	method := reflect.ValueOf(engine).MethodByName("Metrics")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil
	}
	return func() any { return method.Call(nil)[0].Interface() }
}

// sampler keeps the last samples of an engine.
type sampler struct {
	from  func() any
	every time.Duration
	stop  chan struct{}
	done  chan struct{}

	mu   sync.Mutex
	ring []sample // oldest first once it is unrolled
	next int      // where the next sample goes when the ring is full
}

// startSampler samples an engine until close; nil if the engine has no metrics.
func startSampler(engine kv.Database, every time.Duration) *sampler {
	from := meterOf(engine)
	if from == nil {
		return nil
	}
	s := &sampler{from: from, every: every, stop: make(chan struct{}), done: make(chan struct{})}
	s.take()
	go s.run()
	return s
}

func (s *sampler) run() {
	defer close(s.done)
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.take()
		case <-s.stop:
			return
		}
	}
}

// take takes a sample.
func (s *sampler) take() {
	var m measures
	text, err := json.Marshal(s.from())
	if err != nil || json.Unmarshal(text, &m) != nil {
		return // the engine is of another kind than the page knows
	}
	one := sample{
		Time: time.Now(), Commits: m.Commits, Conflicts: m.Conflicts, SyncMs: float64(m.Sync.Sum) / float64(time.Millisecond), Syncs: m.Sync.Count,
		Queued: m.QueuedCommits, WindowBytes: m.WindowBytes, LogBytes: m.LogBytes, BaseBytes: m.BaseBytes, CacheBytes: m.BaseCacheBytes,
		CacheHits: m.BaseCacheHits, CacheMisses: m.BaseCacheMisses, Watches: m.Watches,
	}
	s.add(one)
}

func (s *sampler) add(one sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < maxSamples {
		s.ring = append(s.ring, one)
		return
	}
	s.ring[s.next] = one
	s.next = (s.next + 1) % maxSamples
}

// all returns the samples, oldest first.
func (s *sampler) all() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append(make([]sample, 0, len(s.ring)), s.ring[s.next:]...), s.ring[:s.next]...)
}

func (s *sampler) close() {
	if s != nil {
		close(s.stop)
		<-s.done
	}
}

// metrics returns the engine's metrics and the samples of them.
func (s *sampler) metrics(*http.Request) (any, error) {
	if s == nil {
		return map[string]any{"available": false}, nil
	}
	return map[string]any{"available": true, "samples": s.all(), "now": s.from(), "everyMs": s.every.Milliseconds()}, nil
}
