// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// fewKeys is up to how many keys of a cleared range are deleted one by one. A
// range tombstone slows down the first reads after it.
const fewKeys = 32

// Batch gathers what the base absorbs in one step. It deletes only what the
// base has: a key that was set and cleared within the window leaves nothing.
type Batch struct {
	base  *Base
	batch *pebble.Batch
	keys  *pebble.Iterator // of the base as it was before
	key   []byte
	clear struct{ begin, end []byte } // pending, so that neighbours are cleared as one
	run   clearRun                    // pending
}

func (b *Batch) Size() int { return b.batch.Len() }

func (b *Batch) Set(key, value []byte) error {
	if err := b.flushRun(); err != nil {
		return err
	}
	b.key = baseKey(b.key[:0], key)
	return b.batch.Set(b.key, value, nil)
}

// RemoveRange deletes the keys from begin to end; a nil end means no bound.
func (b *Batch) RemoveRange(begin, end []byte) error {
	if b.clear.begin != nil && bytes.Equal(b.clear.end, begin) {
		b.clear.end = end
		return nil
	}
	if err := b.flushClear(); err != nil {
		return err
	}
	b.clear.begin, b.clear.end = begin, end
	return nil
}

// flushClear writes the pending clear.
func (b *Batch) flushClear() error {
	if b.clear.begin == nil {
		return nil
	}
	if err := b.flushRun(); err != nil { // the iterator is needed
		return err
	}
	begin, end := baseKey(nil, b.clear.begin), []byte{spaceEnd}
	if b.clear.end != nil {
		end = baseKey(nil, b.clear.end)
	}
	b.clear.begin, b.clear.end = nil, nil
	n := 0
	for ok := b.keys.SeekGE(begin); ok && bytes.Compare(b.keys.Key(), end) < 0; ok = b.keys.Next() {
		if n++; n > fewKeys {
			return b.batch.DeleteRange(begin, end, nil)
		}
		if err := b.batch.Delete(b.keys.Key(), nil); err != nil {
			return err
		}
	}
	return b.keys.Error()
}

// Finish makes the version the one that the base has absorbed.
func (b *Batch) Finish(version int64) error {
	return b.batch.Set(absorbedKey, binary.BigEndian.AppendUint64(nil, uint64(version)), nil)
}

// Apply writes the batch to the base and releases it. A read that begins after
// Apply has returned gets the new values.
func (b *Batch) Apply() error {
	err := errors.Join(b.flushRun(), b.flushClear())
	if err == nil && !b.batch.Empty() {
		changes := b.batch.Reader()
		if err = b.sampleChanges(changes); err == nil {
			err = errors.Join(b.batch.Commit(pebble.NoSync), b.base.outdate(changes))
		}
	}
	b.Discard()
	return err
}

// spanOf returns the users' keys between two keys of the base.
func spanOf(begin, end []byte) keySpan {
	s := keySpan{begin: bytes.Clone(begin[1:])}
	if end[0] == userSpace {
		s.end = bytes.Clone(end[1:])
	}
	return s
}

func (b *Batch) Discard() {
	_ = b.keys.Close()
	_ = b.batch.Close()
}

// runKeys is from how many neighbouring keys on that are cleared one by one the
// base is given a range tombstone instead of one for each: an iterator goes
// through those one at a time (BenchmarkFirstReadBehindClears). Tests make it
// fewer.
const runKeys = 16

// clearRun is a run of cleared keys. Neither does the base hold others between
// them, nor does the batch set any there. Names are those of the base.
type clearRun struct {
	few        [][]byte // keys that the base has; as long as they are few they may have others between them
	begin, end []byte   // of a run; nil end: there is none
}

// long reports whether there is a run: the iterator is at the first key after
// it.
func (r *clearRun) long() bool { return r.end != nil }

// InRun reports whether a run of cleared keys goes on.
func (b *Batch) InRun() bool { return b.run.long() }

// Remove deletes a key if the base has it.
func (b *Batch) Remove(key []byte) error {
	b.key = baseKey(b.key[:0], key)
	if b.run.long() {
		switch c := b.compareNext(b.key); {
		case b.keys.Error() != nil:
			return b.keys.Error()
		case c == 0:
			b.run.end = keys.Successor(b.key)
			b.keys.Next()
			return nil
		case c > 0:
			return nil
		}
		if err := b.flushRun(); err != nil {
			return err
		}
	}
	if has, err := b.has(b.key); err != nil || !has {
		return err
	}
	b.run.few = append(b.run.few, bytes.Clone(b.key))
	if len(b.run.few) < b.base.runKeys {
		return nil
	}
	return b.lengthen()
}

// compareNext compares the key that the iterator is at with name; there being
// none counts as above all names.
func (b *Batch) compareNext(name []byte) int {
	if !b.keys.Valid() {
		return 1
	}
	return bytes.Compare(b.keys.Key(), name)
}

// has reports whether the base has a key.
func (b *Batch) has(name []byte) (bool, error) {
	_, closer, err := b.base.db.Get(name)
	if err == pebble.ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

// lengthen makes a run of the few keys if the base has no others between them.
func (b *Batch) lengthen() error {
	few := b.run.few
	b.keys.SeekGE(few[0])
	for _, name := range few {
		if b.compareNext(name) != 0 {
			return b.flushRun()
		}
		b.keys.Next()
	}
	b.run = clearRun{begin: few[0], end: keys.Successor(few[len(few)-1]), few: few[:0]}
	return nil
}

// flushRun writes the run, or the few keys.
func (b *Batch) flushRun() error {
	r := b.run
	b.run = clearRun{few: r.few[:0]}
	if r.long() {
		return b.batch.DeleteRange(r.begin, r.end, nil)
	}
	for _, name := range r.few {
		if err := b.batch.Delete(name, nil); err != nil {
			return err
		}
	}
	return b.keys.Error()
}

// sampleChanges adds to the batch, and to the sample, what the batch's changes of
// users' keys come to.
func (b *Batch) sampleChanges(changes batchrepr.Reader) error {
	for {
		kind, key, value, ok, err := changes.Next()
		if err != nil || !ok {
			return err
		}
		if key[0] != userSpace {
			continue
		}
		if err := b.sampleChange(kind, key, value); err != nil {
			return err
		}
	}
}

func (b *Batch) sampleChange(kind pebble.InternalKeyKind, key, value []byte) error {
	s, user := &b.base.sample, bytes.Clone(key[1:])
	if kind == pebble.InternalKeyKindRangeDelete {
		span := spanOf(key, value)
		s.RemoveRange(span.begin, span.end)
		end := sampleEnd
		if span.end != nil {
			end = sampleKey(span.end)
		}
		return b.batch.DeleteRange(sampleKey(span.begin), end, nil)
	}
	if kind != pebble.InternalKeyKindSet {
		if s.Remove(user) {
			return b.batch.Delete(sampleKey(user), nil)
		}
		return nil
	}
	size, changed := s.Set(user, len(value))
	switch {
	case size > 0:
		return b.batch.Set(sampleKey(user), binary.AppendVarint(nil, size), nil)
	case changed:
		return b.batch.Delete(sampleKey(user), nil)
	}
	return nil
}

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

// RemoveRange notes that a range was cleared; a nil end means no bound.
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
