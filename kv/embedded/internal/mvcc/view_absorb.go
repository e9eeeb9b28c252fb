// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// CopyToBase writes to b what the window says of a span up to version cutoff: at
// most budget entries, and until b has limit bytes. It returns how many entries that
// were and, if more are left, the key of the last.
func (v *View) CopyToBase(b *base.Batch, s Span, cutoff int64, budget, limit int) (seen int, last []byte, err error) {
	var c btree.Cursor[entry]
	ok := c.Seek(&v.entries, s.First)
	for ok && bytes.Compare(c.Key(), s.Last) <= 0 {
		if seen == budget || b.Size() >= limit {
			return seen, last, nil
		}
		key, e := c.Key(), *c.Value()
		var next []byte
		if ok = c.Next(); ok {
			next = c.Key()
		}
		if err := e.copyToBase(b, key, next, cutoff); err != nil {
			return seen, nil, err
		}
		last = key
		seen++
	}
	return seen, nil, nil
}
