// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

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
