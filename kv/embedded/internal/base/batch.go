// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// fewKeys is up to how many keys of a cleared range are deleted one by one. A
// range tombstone slows the first reads behind it down.
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

// RemoveRange deletes the keys from begin to end; a nil end is no bound.
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
