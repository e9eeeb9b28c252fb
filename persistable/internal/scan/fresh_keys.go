// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// FreshKeys are the keys that a transaction sets while queries of it read on.
// Without them a loop over a query that moves each record ahead in the index would
// never end (the Halloween problem). A query does not yield keys that were set
// since it began.
type FreshKeys struct {
	running atomic.Int64
	mu      sync.Mutex
	scans   []*freshScan
}

// freshScan is what was set in the range of one query since it began.
type freshScan struct {
	all     *FreshKeys
	prefix  []byte
	records bool // keys of records, which go on with the chunks of theirs
	keys    map[string]bool
}

func (s *freshScan) end() {
	if s == nil {
		return
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.scans = slices.DeleteFunc(s.all.scans, func(other *freshScan) bool { return other == s })
	s.all.running.Add(-1)
}

// NoteRecord notes the keys that a put sets and that were not there:
// its own if there was no record before, and its new entries.
func (f *FreshKeys) NoteRecord(key []byte, isNew bool, indexes []index.Index, before, now *index.Set) {
	if f.running.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if isNew {
		f.add(key)
	}
	for i := range indexes {
		if indexes[i].Kind != index.Value {
			continue // the entry of a group is not that of one record
		}
		for n := range now.Keys(i) {
			if key := now.Key(i, n); before == nil || !before.Has(i, key) {
				f.add(key)
			}
		}
	}
}

// add notes a key. f.mu is held.
func (f *FreshKeys) add(key []byte) {
	for _, s := range f.scans {
		if !bytes.HasPrefix(key, s.prefix) {
			continue
		}
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[string(key)] = true
	}
}

// dropFresh returns the pairs but for those that were set since the query began.
func (s *freshScan) dropFresh(pairs []kv.KeyValue, r *Range) []kv.KeyValue {
	if s == nil {
		return pairs
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if len(s.keys) == 0 {
		return pairs
	}
	return slices.DeleteFunc(slices.Clone(pairs), func(pair kv.KeyValue) bool {
		key := pair.Key
		if s.records {
			key = key[:len(key)-len(r.chunkSuffix(key))]
		}
		return s.keys[string(key)]
	})
}
