// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// freshKeys are the keys that a transaction sets while queries of it read on.
// Such a query would otherwise meet what its caller writes ahead of it: a loop
// that moves each record of an index ahead would never end (the Halloween
// problem). So a query does not yield what was set since it began.
type freshKeys struct {
	running atomic.Int64
	mu      sync.Mutex
	scans   []*freshScan
}

// freshScan is what was set in the range of one query since it began.
type freshScan struct {
	all    *freshKeys
	prefix []byte
	whole  bool // keys of records, which go on with the chunks of theirs
	keys   map[string]bool
}

// begin notes that a transaction begins to read the range of r; nil in one that
// writes nothing. The caller calls end.
func (t *transaction) beginScan(r *rangeRead) *freshScan {
	if t.writeState == nil {
		return nil
	}
	f := &t.fresh
	s := &freshScan{all: f, prefix: r.prefix, whole: r.whole}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = append(f.scans, s)
	f.running.Add(1)
	return s
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

// noteRecord notes the keys that putting a record sets and that were not there:
// its own if there was no record before, and its new entries.
func (f *freshKeys) noteRecord(key []byte, isNew bool, indexes []index.Index, before, now *index.Set) {
	if f.running.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if isNew {
		f.note(key)
	}
	for i := range indexes {
		for n := range now.Keys(i) {
			if key := now.Key(i, n); before == nil || !before.Has(i, key) {
				f.note(key)
			}
		}
	}
}

// note notes a key. f.mu is held.
func (f *freshKeys) note(key []byte) {
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

// without returns the pairs but for those that were set since the query began.
func (s *freshScan) without(pairs []kv.KeyValue, r *rangeRead) []kv.KeyValue {
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
		if s.whole {
			key = key[:len(key)-len(r.behindID(key))]
		}
		return s.keys[string(key)]
	})
}

// behindID returns what follows the id in the key of a record or a chunk.
func (r *rangeRead) behindID(key []byte) []byte {
	rest, err := tuple.Skip(r.suffix(key))
	if err != nil {
		return nil
	}
	return rest
}
