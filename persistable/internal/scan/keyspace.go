// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Keyspace is where the records of a store are, or the entries of one index. A
// key is a prefix, the shard if they are scattered, and a suffix, which gives
// them their order: the id, or the values.
type Keyspace struct {
	Prefix []byte
	Shards index.Shards
}

// EntriesOf returns where the entries of an index are.
func EntriesOf(ix *index.Index) Keyspace { return Keyspace{ix.Prefix, ix.Scatter} }

// Append appends the key of the record with that packed id to dst.
func (k *Keyspace) Append(dst, id []byte) []byte {
	return append(k.Shards.Append(append(dst, k.Prefix...), id), id...)
}

// Suffix returns the suffix of a key that was read in one of the shards.
func (k *Keyspace) Suffix(key []byte) []byte {
	_, suffix, _ := k.Shards.Cut(key[len(k.Prefix):])
	return suffix
}

// RangesOf returns the ranges of keys that are within bounds, one for each shard.
func (k *Keyspace) RangesOf(b index.Bounds) (all []kv.KeyRange) {
	for i := range max(1, int(k.Shards)) {
		prefix := slices.Clone(k.Prefix)
		if k.Shards > 0 {
			prefix = k.Shards.AppendShard(prefix, i)
		}
		all = append(all, b.Range(prefix))
	}
	return all
}

// CutRecord returns the part of a record's key behind the prefix, given that key or
// that of one of the record's chunks. It reports whether key is one of these.
func (k *Keyspace) CutRecord(key []byte) (part []byte, ok bool) {
	if !bytes.HasPrefix(key, k.Prefix) {
		return nil, false
	}
	_, id, err := k.Shards.Cut(key[len(k.Prefix):])
	if err != nil || len(id) == 0 {
		return nil, false
	}
	rest, err := tuple.Skip(id)
	if err != nil {
		return nil, false
	}
	return key[len(k.Prefix) : len(key)-len(rest)], true
}

// Transaction is the transaction in which a range is read.
type Transaction struct {
	Reader kv.ReadTransaction
	*Writes
}

// Writes are what the reads of a transaction that writes must know of its writes.
type Writes struct {
	Writer kv.Transaction
	Count  atomic.Int64 // of writes that have ended
	Fresh  FreshKeys
}

// countWrites returns how many writes have ended; 0 in a transaction that writes nothing.
func (tx *Transaction) countWrites() int64 {
	if tx.Writes == nil {
		return 0
	}
	return tx.Count.Load()
}

// beginScan notes that the transaction begins to read a range. It returns nil in
// one that writes nothing. The caller calls end.
func (tx *Transaction) beginScan(r *Range) *freshScan {
	if tx.Writes == nil {
		return nil
	}
	f := &tx.Fresh
	s := &freshScan{all: f, prefix: r.Prefix, records: r.Records}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = append(f.scans, s)
	f.running.Add(1)
	return s
}

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
