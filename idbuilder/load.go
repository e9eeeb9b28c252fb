// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"iter"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/sequence"
)

// KeyLoad is what this worker has done for a key since the key came into its memory.
type KeyLoad struct {
	Key       string
	Type      idconfig.Type
	Requests  uint64 // for IDs over HTTP, whatever their answer
	IDs       int64  // that were given
	Remaining uint64 // numbers that are reserved and not given; of a formatted key, those of its first counter
}

// KeyLoads ranges over the keys in the worker's memory, in no order: those that were
// used within [Options.Idle]. The counts of a key begin at 0 again when it was forgotten
// in between.
func (w *Worker) KeyLoads() iter.Seq[KeyLoad] {
	return func(yield func(KeyLoad) bool) {
		w.keys.entries.Range(func(_, entry any) bool {
			e := entry.(*keyEntry)
			s := e.state.Load()
			return s == nil || yield(e.load(s))
		})
	}
}

func (e *keyEntry) load(s *keyState) KeyLoad {
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

// Load counts what concerns no single key, since the worker began.
type Load struct {
	Waits       uint64            // requests for IDs that waited for the store
	StoreErrors map[string]uint64 // failed operations of the store, by operation
}

// Load returns the worker's counts.
func (w *Worker) Load() Load {
	l := Load{Waits: uint64(w.pool.Metrics().Waits), StoreErrors: map[string]uint64{}}
	w.usage.errors.Range(func(operation, n any) bool {
		l.StoreErrors[operation.(string)] = n.(*count).Load()
		return true
	})
	return l
}

// APIError returns the answer that the API gives for an error of a method of the
// worker: its message names the parameter and what is allowed, and nothing of
// the store's inside.
func (w *Worker) APIError(err error) *api.Error { return w.apiError(err) }
