// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
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

// changes yields the changes behind a version.
func (s source) changes(ctx context.Context, since Version) iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		for {
			var batch []change
			more := false
			err := s.runRead(ctx, func(t *transaction) (err error) {
				o, err := t.openStore(ctx, s.place)
				if batch, more = nil, false; err != nil || o == nil {
					return err
				}
				batch, more, err = s.readChanges(ctx, t, o, since, changesAtOnce)
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

// readChanges reads up to limit changes behind a version, fewer if their records are large, and
// perhaps more: the changes of one version, which two records have only if the caller has
// called In twice for one transaction, are not separated. more says that there may be others.
func (s *source) readChanges(ctx context.Context, t *transaction, o *openStore, since Version, limit int) (all []change, more bool, err error) {
	x, err := s.versionsOf(o)
	if err != nil {
		return nil, false, err
	}
	if !t.isReadOnly() && !t.versions.isEmpty() {
		return nil, false, fmt.Errorf("%w: %s: read the changes before the transaction writes records that have versions", ErrVersionPending, s.record.Type)
	}
	entries := t.Reader.GetRange(x.entriesAfter(since).Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	checks := s.startChecks(t, o, x)
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
	all, err = s.readRecords(ctx, t, o, x, pairs)
	return all, more || len(all) < len(pairs), err
}

// versionsOf returns the index of versions, which must be readable.
func (s *source) versionsOf(o *openStore) (*versionIndex, error) {
	if o.versions == nil || o.versions.State != index.Readable {
		return nil, s.record.noVersions()
	}
	return o.versions, nil
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
func (s *source) readRecords(ctx context.Context, t *transaction, o *openStore, x *versionIndex, pairs []kv.KeyValue) ([]change, error) {
	f := fetches{record: s.record, reader: t.Reader, records: o.records}
	changes := make([]change, len(pairs))
	for i, pair := range pairs {
		e, err := x.ReadVersionEntry(pair)
		if err != nil {
			return nil, s.record.indexError(err)
		}
		changes[i] = change{id: s.record.idValue(e.ID), version: Version(e.Version), deleted: e.Deleted}
		if !e.Deleted {
			f.add(e.ID)
		}
	}
	f.start()
	return s.awaitChanges(ctx, &f, x, changes, pairs)
}

// awaitChanges waits for the records of changes, or of the first ones.
func (s *source) awaitChanges(ctx context.Context, f *fetches, x *versionIndex, changes []change, pairs []kv.KeyValue) (_ []change, err error) {
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
			return nil, s.record.danglingEntry(x.Index, pairs[i].Key, f.id(fetched))
		}
		if s.record.Version != nil {
			*s.record.Version(c.record) = c.version
		}
		fetched++
	}
	return changes, nil
}

// changeChecks are the reads that tell whether changes can be read behind a version.
type changeChecks struct {
	typ             string
	pruned, changed kv.Future[[]byte]
	readVersion     kv.Future[int64]
}

func (s *source) startChecks(t *transaction, o *openStore, x *versionIndex) changeChecks {
	return changeChecks{
		typ: s.record.Type, pruned: t.Reader.Get(o.prunedKey(s.place)), changed: t.Reader.Snapshot().Get(x.changed),
		readVersion: t.Reader.GetReadVersion(),
	}
}

// wait returns why changes behind since cannot be read, or nil.
func (c *changeChecks) wait(ctx context.Context, since Version) error {
	pruned, err := c.pruned.Get(ctx)
	if err != nil {
		return err
	}
	if string(since[:]) < string(pruned) && !since.IsZero() {
		return &PrunedError{Type: c.typ, Since: since, Pruned: versionOf(pruned)}
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
		return &RestoredError{Type: c.typ, Last: versionOf([]byte(last)), Read: read}
	}
	return err
}

func versionOf(b []byte) (v Version) {
	copy(v[:], b)
	return v
}
