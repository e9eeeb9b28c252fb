// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"sync"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Sample is FoundationDB's byte sample (its StorageMetrics): a few of the keys,
// each with the bytes that it stands for. A pair is in it with a probability
// that grows with its size, decided by a hash of its key, so that a write needs
// no look at what was there before: the same key is in the sample or not. It is
// safe for concurrent use.
type Sample struct {
	mu   sync.Mutex
	keys btree.Tree[int64]
}

// A pair is sampled with the probability size/(len(key)+sampleOverhead)/sampleFactor,
// so that the sample takes about 1/sampleFactor of the space of all pairs.
const (
	sampleFactor   = 250
	sampleOverhead = 100
)

// Weight returns the bytes that a pair stands for; 0: it is not in the sample.
func Weight(key []byte, valueSize int) int64 {
	size := float64(len(key) + valueSize)
	probability := min(size/float64(len(key)+sampleOverhead)/sampleFactor, 1)
	if float64(sampleHash(key)) >= probability*(1<<32) {
		return 0
	}
	return int64(size / probability)
}

// sampleHash is FNV-1a with a finalizer (that of MurmurHash3), since keys that
// differ in their last byte only must be far apart.
func sampleHash(key []byte) uint32 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return uint32(h >> 32)
}

// Set notes that a pair was written. It returns the bytes that the pair stands
// for, and whether the sample has changed. The sample keeps the key.
func (s *Sample) Set(key []byte, valueSize int) (size int64, changed bool) {
	size = Weight(key, valueSize)
	s.mu.Lock()
	defer s.mu.Unlock()
	if size == 0 {
		return 0, s.keys.Remove(key)
	}
	s.keys.Set(key, size)
	return size, true
}

// Remove notes that a key was cleared, and reports whether the sample has changed.
func (s *Sample) Remove(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.Remove(key)
}

// RemoveRange notes that a range was cleared; a nil end is no bound.
func (s *Sample) RemoveRange(begin, end []byte) {
	if end == nil {
		end = keys.SystemEnd
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.RemoveRange(begin, end)
}

// Snapshot returns the sample as it is.
func (s *Sample) Snapshot() btree.Tree[int64] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.Snapshot()
}

// Apply notes a mutation, resolved to a set or a clear.
func (s *Sample) Apply(m *mutation.Mutation) {
	switch {
	case m.Op == mutation.OpClearRange:
		s.RemoveRange(m.Key, m.Value)
	case m.Value == nil:
		s.Remove(m.Key)
	default:
		s.Set(m.Key, len(m.Value))
	}
}

// Restore sets a key to the bytes that it stood for before.
func (s *Sample) Restore(key []byte, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Set(key, size)
}
