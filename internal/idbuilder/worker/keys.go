// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// keys has the keys that were used recently, and reads the others from the store.
type keys struct {
	store   store.Store
	watch   *revision.Watch
	pool    *sequence.Pool
	life    context.Context // of the worker
	timeout time.Duration   // of a read
	log     *slog.Logger

	entries sync.Map // of *keyEntry, by key
	reads   reads
}

// keyEntry is what a worker knows of a key.
type keyEntry struct {
	key   string
	usage keyUsage
	used  atomic.Int64 // Unix seconds
	state atomic.Pointer[keyState]
}

// noteUse notes that the key is used.
func (e *keyEntry) noteUse(now time.Time) {
	if second := now.Unix(); e.used.Load() != second {
		e.used.Store(second)
	}
}

// keyState is a key's configuration at a revision.
type keyState struct {
	revision int64
	read     time.Time // when the read began
	config   *idconfig.Config
	counters []counter // of a formatted key
	sequence *sequence.Sequence
}

// counter is a counter of a formatted key.
type counter struct {
	format.Counter
	current *atomic.Pointer[periodSequence]
}

// periodSequence is the sequence of a counter in a period.
type periodSequence struct {
	period string
	*sequence.Sequence
}

// entryAt returns an entry with the key's state at a revision, or nil.
func (k *keys) entryAt(key string, revision int64) (*keyEntry, *keyState) {
	found, ok := k.entries.Load(key)
	if !ok {
		return nil, nil
	}
	e := found.(*keyEntry)
	if s := e.state.Load(); s != nil && s.revision == revision {
		return e, s
	}
	return nil, nil
}

// stateOf returns the key's state in memory, of any revision, or nil.
func (k *keys) stateOf(key string) *keyState {
	if found, ok := k.entries.Load(key); ok {
		return found.(*keyEntry).state.Load()
	}
	return nil
}

func noConfig(key string) *api.Error {
	return api.Errorf(api.NotFound, "key: there is no configuration %q", key)
}

// forgetIdle forgets the keys that were not used since a time.
func (k *keys) forgetIdle(since time.Time) {
	k.entries.Range(func(key, entry any) bool {
		if entry.(*keyEntry).used.Load() < since.Unix() {
			k.entries.Delete(key)
		}
		return true
	})
}

func (e *keyEntry) keyLoad(s *keyState) KeyLoad {
	l := KeyLoad{Key: e.key, Type: s.config.Type, Requests: e.usage.requests.Load(), IDs: e.usage.given.Load()}
	if q := s.inMemory(); q != nil {
		l.Remaining = q.State().Remaining
	}
	return l
}

// inMemory returns the sequence of the key, or that of a formatted key's first
// counter; nil if there is none.
func (s *keyState) inMemory() *sequence.Sequence {
	if len(s.counters) > 0 {
		if p := s.counters[0].current.Load(); p != nil {
			return p.Sequence
		}
	}
	return s.sequence
}

func (e *keyEntry) collect(out chan<- prometheus.Metric) {
	s := e.state.Load()
	if s == nil {
		return
	}
	t := string(s.config.Type)
	requests := e.usage.requests.Load()
	out <- prometheus.MustNewConstMetric(requestsTotal, prometheus.CounterValue, float64(requests), e.key, t)
	buckets, sum := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, bound := range bounds {
		sum += e.usage.buckets[i].Load()
		buckets[bound] = sum
	}
	out <- prometheus.MustNewConstHistogram(requestDuration, max(requests, sum), float64(e.usage.nanos.Load())/1e9, buckets, e.key, t)
	if current, remaining, ok := s.sequencePosition(); ok {
		out <- prometheus.MustNewConstMetric(sequenceCurrent, prometheus.GaugeValue, current, e.key)
		out <- prometheus.MustNewConstMetric(cacheRemaining, prometheus.GaugeValue, remaining, e.key)
	}
}

// sequencePosition returns the position of a key's sequence; of a formatted key, that
// of its first counter.
func (s *keyState) sequencePosition() (current, remaining float64, ok bool) {
	q := s.inMemory()
	if q == nil {
		return 0, 0, false
	}
	state := q.State()
	current = float64(state.Reserved)
	if state.Given {
		current = float64(state.Last)
	}
	return current, float64(state.Remaining), !math.IsNaN(current)
}
