// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

// The base keeps its sample among its own keys: behind this prefix the user's
// key, with the bytes that it stands for as a varint. It changes in the batches
// that change what it is a sample of.
var (
	samplePrefix = []byte{ownSpace, 's', '/'}
	sampleEnd    = []byte{ownSpace, 's', '/' + 1}
)

func sampleKey(key []byte) []byte { return append(bytes.Clone(samplePrefix), key...) }

// readSample brings the sample into memory: 1/sampleFactor of the base, about.
func (b *Base) readSample() error {
	iter, err := b.db.NewIter(&pebble.IterOptions{LowerBound: samplePrefix, UpperBound: sampleEnd})
	if err != nil {
		return err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		size, n := binary.Varint(iter.Value())
		if n <= 0 || size <= 0 {
			return errors.Join(errors.New("the sample of sizes is malformed"), iter.Close())
		}
		b.sample.Restore(bytes.Clone(iter.Key()[len(samplePrefix):]), size)
	}
	return iter.Close()
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
