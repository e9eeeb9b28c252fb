// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// pruner removes tombstones in several transactions.
type pruner struct {
	*source
	upTo  Version
	force bool
	next  []byte // the key at which the next transaction goes on, in the directory of the last one; nil: the beginning
}

// pruneChanges removes the tombstones up to a version.
func (s source) pruneChanges(ctx context.Context, upTo Version, force bool) (total int, err error) {
	if err := s.mayBuild(); err != nil {
		return 0, err
	}
	p := pruner{source: &s, upTo: upTo, force: force}
	for done := false; !done; {
		var n int
		var next []byte
		err := s.place.db.transact(ctx, func(t *transaction) (err error) {
			n, next, err = p.pruneBatch(ctx, t)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
		p.next, done = next, next == nil
	}
	return total, nil
}

// pruneBatch removes the tombstones among the next entries, and returns the key behind
// them, nil at the end.
func (p *pruner) pruneBatch(ctx context.Context, t *transaction) (n int, next []byte, err error) {
	o, err := t.openStoreToWrite(ctx, p.place)
	if err != nil || o == nil {
		return 0, nil, err
	}
	x, err := p.versionsOf(o)
	if err != nil {
		return 0, nil, err
	}
	if err := p.checkConsumers(ctx, t, o); err != nil {
		return 0, nil, err
	}
	r := kv.KeyRange{Begin: p.next, End: x.entriesAfter(p.upTo).Begin}
	if !bytes.HasPrefix(r.Begin, x.Prefix) { // or another directory has been put at the path
		r.Begin = x.Prefix
	}
	pairs, err := t.writer.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: pruneAtOnce, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return 0, nil, err
	}
	if n, err = p.removeTombstones(t, o, x, pairs); err != nil || len(pairs) < pruneAtOnce {
		return n, nil, err
	}
	return n, kv.Successor(pairs[len(pairs)-1].Key), nil
}

// pruneAtOnce is how many entries one transaction reads.
const pruneAtOnce = 1000

// removeTombstones removes the tombstones among entries, with the versions of their records. A
// concurrent change of such a record removes the entry as well, and so conflicts.
func (p *pruner) removeTombstones(t *transaction, o *openStore, x *versionIndex, pairs []kv.KeyValue) (n int, err error) {
	for _, pair := range pairs {
		e, err := x.ReadVersionEntry(pair)
		if err != nil {
			return 0, p.record.indexError(err)
		}
		if !e.Deleted {
			continue
		}
		n++
		if err := t.writer.AddReadConflictKey(pair.Key); err != nil {
			return 0, err
		}
		t.writer.Clear(pair.Key)
		t.writer.Clear(x.versionKey(e.ID))
		t.writer.Atomic(kv.ByteMax, o.prunedKey(p.place), e.Version)
	}
	return n, nil
}

// checkConsumers returns a *[BehindError] if a consumer has not come so far.
func (p *pruner) checkConsumers(ctx context.Context, t *transaction, o *openStore) error {
	if p.force {
		return nil
	}
	r := o.feedRange(p.place)
	for pair, err := range t.writer.GetRange(r.Selectors(), kv.RangeOptions{}).All(ctx) {
		if err != nil {
			return err
		}
		if string(pair.Value) < string(p.upTo[:]) {
			group, _, err := tuple.ReadString(pair.Key[len(r.Begin):])
			if err != nil {
				group = string(pair.Key)
			}
			return &BehindError{Type: p.record.Type, Group: group, At: versionOf(pair.Value)}
		}
	}
	return nil
}
