// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Check is the read of whether a build has done a record.
type Check struct {
	list   List
	suffix []byte
	read   kv.RangeResult
}

// StartCheck starts the read for the record whose key is suffix behind the prefix of
// records. The read is a snapshot: it never conflicts.
func (l List) StartCheck(tx kv.ReadTransaction, suffix []byte) Check {
	// Ranges begin at most maxBegin bytes from the prefix: a longer key is in the range
	// of its first bytes.
	last := l.rangeKey(suffix[:min(len(suffix), maxBegin+1)])
	r := kv.KeyRange{Begin: l.rangesPrefix(), End: kv.Successor(last)}
	return Check{l, suffix, tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})}
}

// Wait reports whether the record is done: whether writes maintain its entries in the
// indexes that count each record once.
func (c *Check) Wait(ctx context.Context) (done bool, err error) {
	pairs, err := c.read.Slice(ctx)
	if err != nil {
		return false, err
	}
	if len(pairs) == 0 {
		return false, c.list.damage(c.list.Prefix)
	}
	r, err := c.list.decode(pairs[0])
	if err != nil {
		return false, err
	}
	if bytes.Compare(c.suffix, r.End) >= 0 {
		return false, c.list.damage(pairs[0].Key)
	}
	return bytes.Compare(c.suffix, r.Next) < 0, nil
}
