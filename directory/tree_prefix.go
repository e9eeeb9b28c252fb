// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// allocate returns a new prefix for a directory of the tree, which does not
// overlap the prefix avoid. Keys, or directories with manual prefixes, that lie
// there already are an error: a program uses the content without the allocator.
func (t *tree) allocate(ctx context.Context, tx kv.Transaction, avoid []byte) ([]byte, error) {
	for {
		n, err := t.allocator.allocate(ctx, tx)
		if err != nil {
			return nil, err
		}
		prefix := t.content.Sub(n).Bytes()
		if avoid != nil && overlap(prefix, avoid) {
			continue
		}
		keys := tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		// Allocations must not conflict with each other, hence the snapshot. It
		// is safe: the allocator gives no other transaction this prefix.
		if err := t.checkFree(ctx, tx.Snapshot(), prefix, true); err != nil {
			return nil, err
		}
		pairs, err := keys.Slice(ctx)
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 {
			return nil, prefixError(prefix, true, "the database has keys there, which no directory owns")
		}
		return prefix, nil
	}
}

func overlap(a, b []byte) bool { return bytes.HasPrefix(a, b) || bytes.HasPrefix(b, a) }

// checkFree reports, as an error, a directory of the tree whose prefix begins
// with prefix or with which prefix begins.
func (t *tree) checkFree(ctx context.Context, tx kv.ReadTransaction, prefix []byte, allocated bool) error {
	if reason := t.checkPrefix(prefix); reason != "" {
		return prefixError(prefix, allocated, reason)
	}
	end, _ := kv.PrefixEnd(prefix) // exists: the prefix does not begin with ff
	inside := kv.KeyRange{Begin: t.node(prefix).Bytes(), End: t.node(end).Bytes()}
	before := kv.KeyRange{Begin: rangeOf(t.nodes).Begin, End: kv.Successor(t.node(prefix).Bytes())}
	containing := tx.GetRange(before.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})
	contained := tx.GetRange(inside.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	pairs, err := containing.Slice(ctx)
	if err != nil {
		return err
	}
	if len(pairs) > 0 {
		other, err := decodeNodePrefix(t.nodes, pairs[0].Key)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(prefix, other) {
			return prefixError(prefix, allocated, "it lies in that of another directory")
		}
	}
	if pairs, err = contained.Slice(ctx); err != nil {
		return err
	}
	if len(pairs) > 0 {
		return prefixError(prefix, allocated, "it contains that of another directory")
	}
	return nil
}
