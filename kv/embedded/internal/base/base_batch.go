// SPDX-License-Identifier: Apache-2.0

package base

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

func (b *Base) NewBatch() (*Batch, error) {
	keys, err := b.db.NewIter(&pebble.IterOptions{LowerBound: []byte{userSpace}, UpperBound: []byte{spaceEnd}})
	if err != nil {
		return nil, err
	}
	return &Batch{base: b, batch: b.db.NewBatch(), keys: keys}, nil
}

// outdate takes what has changed in the base out of the row cache.
func (b *Base) outdate(changes batchrepr.Reader) error {
	var spans []keySpan
	for {
		kind, key, value, ok, err := changes.Next()
		switch {
		case err != nil:
			return err
		case !ok:
			b.rows.forgetSpans(spans)
			return nil
		case key[0] != userSpace:
		case kind == pebble.InternalKeyKindRangeDelete:
			spans = append(spans, spanOf(key, value))
		default:
			b.rows.forget(key[1:])
		}
	}
}
