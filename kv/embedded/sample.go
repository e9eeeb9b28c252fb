// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// sample is FoundationDB's byte sample (its StorageMetrics): a few of the keys,
// each with the bytes that it stands for. A pair is in it with a probability
// that grows with its size, decided by a hash of its key, so that a write needs
// no look at what was there before: the same key is in the sample or not. It is
// safe for concurrent use.
type sample struct {
	mu   sync.Mutex
	keys btree.Tree[int64]
}

// A pair is sampled with the probability size/(len(key)+sampleOverhead)/sampleFactor,
// so that the sample takes about 1/sampleFactor of the space of all pairs.
const (
	sampleFactor   = 250
	sampleOverhead = 100
)

// sampled returns the bytes that a pair stands for; 0: it is not in the sample.
func sampled(key []byte, valueSize int) int64 {
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

// set notes that a pair was written. It returns the bytes that the pair stands
// for, and whether the sample has changed. The sample keeps the key.
func (s *sample) set(key []byte, valueSize int) (size int64, changed bool) {
	size = sampled(key, valueSize)
	s.mu.Lock()
	defer s.mu.Unlock()
	if size == 0 {
		return 0, s.keys.Remove(key)
	}
	s.keys.Set(key, size)
	return size, true
}

// remove notes that a key was cleared, and reports whether the sample has changed.
func (s *sample) remove(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.Remove(key)
}

// removeRange notes that a range was cleared; a nil end is no bound.
func (s *sample) removeRange(begin, end []byte) {
	if end == nil {
		end = keys.SystemEnd
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.RemoveRange(begin, end)
}

// snapshot returns the sample as it is.
func (s *sample) snapshot() btree.Tree[int64] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.Snapshot()
}

// apply notes a mutation, resolved to a set or a clear.
func (s *sample) apply(m *mutation.Mutation) {
	switch {
	case m.Op == mutation.OpClearRange:
		s.removeRange(m.Key, m.Value)
	case m.Value == nil:
		s.remove(m.Key)
	default:
		s.set(m.Key, len(m.Value))
	}
}

// restore sets a key to the bytes that it stood for before.
func (s *sample) restore(key []byte, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Set(key, size)
}
