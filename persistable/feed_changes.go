// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// change is a Change without types.
type change struct {
	id      any
	version Version
	deleted bool
	record  any
}

// changesAtOnce is how many changes are read at once.
const changesAtOnce = 200

// changes yields the changes after a version.
func (d feed) changes(ctx context.Context, since Version) iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		for {
			var batch []change
			more := false
			err := d.runRead(ctx, func(t *transaction) (err error) {
				o, err := t.openStore(ctx, d.place)
				if batch, more = nil, false; err != nil || o == nil {
					return err
				}
				batch, more, err = d.readChanges(ctx, t, o, since, changesAtOnce)
				return err
			})
			if err != nil {
				yield(change{}, err)
				return
			}
			for _, c := range batch {
				if !yield(c, nil) {
					return
				}
				since = c.version
			}
			if !more {
				return
			}
		}
	}
}

// readChanges reads up to limit changes after a version, fewer if their records are large, and
// perhaps more: the changes of one version, which two records have only if the caller has
// called In twice for one transaction, are not separated. more says that there may be others.
func (d feed) readChanges(ctx context.Context, t *transaction, o *openStore, since Version, limit int) (all []change, more bool, err error) {
	x, err := o.readableVersions(d.record)
	if err != nil {
		return nil, false, err
	}
	if !t.isReadOnly() && !t.versions.isEmpty() {
		return nil, false, fmt.Errorf("%w: %s: read the changes before the transaction writes records that have versions", ErrVersionPending, d.record.Type)
	}
	entries := t.Reader.GetRange(x.entriesAfter(since).Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	checks := d.startChecks(t, o, x)
	pairs, err := entries.Slice(ctx)
	if err == nil {
		err = checks.wait(ctx, since)
	}
	if more = len(pairs) == limit; err == nil && more {
		pairs, err = x.completeVersion(ctx, t, pairs)
	}
	if err != nil {
		return nil, false, pending(err)
	}
	all, err = d.readRecords(ctx, t, o, x, pairs)
	return all, more || len(all) < len(pairs), err
}

// pending turns the engine's error of a read of what the transaction itself writes into
// [ErrVersionPending].
func pending(err error) error {
	if kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		return fmt.Errorf("%w: %w", ErrVersionPending, err)
	}
	return err
}

// readRecords reads the records of entries, or of the first ones, as many as have
// mostRecordBytes together.
func (d feed) readRecords(ctx context.Context, t *transaction, o *openStore, x *versionIndex, pairs []kv.KeyValue) ([]change, error) {
	f := fetches{record: d.record, reader: t.Reader, records: o.records}
	changes := make([]change, len(pairs))
	for i, pair := range pairs {
		e, err := x.ReadVersionEntry(pair)
		if err != nil {
			return nil, d.record.indexError(err)
		}
		changes[i] = change{id: d.record.idValue(e.ID), version: Version(e.Version), deleted: e.Deleted}
		if !e.Deleted {
			f.add(e.ID)
		}
	}
	f.start()
	return d.awaitChanges(ctx, &f, x, changes, pairs)
}

// awaitChanges waits for the records of changes, or of the first ones.
func (d feed) awaitChanges(ctx context.Context, f *fetches, x *versionIndex, changes []change, pairs []kv.KeyValue) (_ []change, err error) {
	fetched := 0
	for i := range changes {
		c := &changes[i]
		if f.read >= mostRecordBytes && c.version != changes[i-1].version {
			return changes[:i], nil
		}
		if c.deleted {
			continue
		}
		if c.record, err = f.awaitRecord(ctx, fetched); err != nil {
			return nil, err
		}
		if c.record == nil {
			return nil, d.record.danglingEntry(x.Index, pairs[i].Key, f.id(fetched))
		}
		if d.record.Version != nil {
			*d.record.Version(c.record) = c.version
		}
		if fetched++; d.hides(c.record) {
			c.deleted, c.record = true, nil
		}
	}
	return changes, nil
}

// changeChecks are the reads that tell whether changes can be read after a version.
type changeChecks struct {
	typ             string
	pruned, changed kv.Future[[]byte]
	readVersion     kv.Future[int64]
}

func (d feed) startChecks(t *transaction, o *openStore, x *versionIndex) changeChecks {
	return changeChecks{
		typ: d.record.Type, pruned: t.Reader.Get(o.prunedKey(d.place)), changed: t.Reader.Snapshot().Get(x.changed),
		readVersion: t.Reader.GetReadVersion(),
	}
}

// wait returns why changes after since cannot be read, or nil.
func (c *changeChecks) wait(ctx context.Context, since Version) error {
	pruned, err := c.pruned.Get(ctx)
	if err != nil {
		return err
	}
	if string(since[:]) < string(pruned) && !since.IsZero() {
		return sentinel.Mark(ErrPruned, fmt.Errorf("persistable: the deletions of %s up to %v were forgotten, and the reader has come to %v: compare all records, and begin anew with the zero Version, a consumer after RemoveConsumer",
			c.typ, versionOf(pruned), since))
	}
	changed, err := c.changed.Get(ctx)
	if kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		return nil // the transaction itself has changed records
	}
	if err != nil {
		return err
	}
	read, err := c.readVersion.Get(ctx)
	if last := max(string(changed), string(since[:])); err == nil && len(last) >= 8 && binary.BigEndian.Uint64([]byte(last)) > uint64(read) {
		return sentinel.Mark(ErrRestored, fmt.Errorf("persistable: %s was last changed at %v, and the database has only come to version %d: it was restored with lower versions; advance them before anything is written (fdbcli advanceversion)",
			c.typ, versionOf([]byte(last)), read))
	}
	return err
}

func versionOf(b []byte) (v Version) {
	copy(v[:], b)
	return v
}

// await waits until there may be a change after a version. It writes nothing.
func (d feed) await(ctx context.Context, since Version) error {
	err := d.checkUsable()
	if err == nil && d.tx != nil {
		err = fmt.Errorf("persistable: %s: Await reads in transactions of its own: use a store that is not bound to one", d.record.Type)
	}
	if err != nil {
		return err
	}
	w := watcher{source: &d.source}
	defer w.cancel()
	found, err := w.findChangeAfter(ctx, since)
	return w.waitUnless(ctx, found, err)
}

// pruner removes tombstones in several transactions.
type pruner struct {
	*source
	upTo  Version
	force bool
	next  []byte // the key at which the next transaction goes on, in the directory of the last one; nil: the beginning
}

// prune removes the tombstones up to a version.
func (d feed) prune(ctx context.Context, upTo Version, force bool) (total int, err error) {
	if err := d.prepareMaintenance(); err != nil {
		return 0, err
	}
	p := pruner{source: &d.source, upTo: upTo, force: force}
	for done := false; !done; {
		var n int
		var next []byte
		err := d.db.transact(ctx, func(t *transaction) (err error) {
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

// pruneBatch removes the tombstones among the next entries, and returns the key after
// them, nil at the end.
func (p *pruner) pruneBatch(ctx context.Context, t *transaction) (n int, next []byte, err error) {
	o, err := t.openStoreToWrite(ctx, p.place)
	if err != nil || o == nil {
		return 0, nil, err
	}
	x, err := o.readableVersions(p.record)
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

// checkConsumers returns an [ErrUnread] if a consumer has not come so far.
func (p *pruner) checkConsumers(ctx context.Context, t *transaction, o *openStore) error {
	if p.force {
		return nil
	}
	r := o.feedRange(p.place)
	for pair, err := range t.writer.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return err
		}
		if string(pair.Value) < string(p.upTo[:]) {
			group, _, err := tuple.ReadString(pair.Key[len(r.Begin):])
			if err != nil {
				group = string(pair.Key)
			}
			return sentinel.Mark(ErrUnread, fmt.Errorf("persistable: the consumer %q of %s has come to %v only: let it run, remove it with RemoveConsumer, or force the pruning",
				group, p.record.Type, versionOf(pair.Value)))
		}
	}
	return nil
}
