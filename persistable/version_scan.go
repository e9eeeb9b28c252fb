// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// versionScan reads the versions of records in the order of their ids, beside a scan of the
// records. The zero value reads nothing.
type versionScan struct {
	reads   versionReads
	pairs   func() (kv.KeyValue, error, bool) // nil: one read for each record
	end     func()
	pair    kv.KeyValue // the one read last
	ended   bool
	reverse bool
	batch   [][]byte // the stored versions of the next records; nil for one that is not known
}

// newVersionScan starts the reads for a scan, if the records have a field for the version.
func newVersionScan(ctx context.Context, q *query, t *transaction, o *openStore, p plan, c *cursor) *versionScan {
	s := &versionScan{reads: newVersionReads(q.record, t, o), reverse: q.reverse}
	x := s.reads.index
	if x == nil || s.hasOwn() {
		return s
	}
	r := q.keyRange(p, scan.Keyspace{Prefix: x.versions}, c)
	keys := r.Bounds.Range(x.versions)
	versions := t.Reader.GetRange(keys.Selectors(), kv.RangeOptions{Reverse: q.reverse})
	s.pairs, s.end = iter.Pull2(versions.All(ctx))
	return s
}

// hasOwn reports whether the transaction has written versions, perhaps in the loop over the
// scan. A range with these cannot be read.
func (s *versionScan) hasOwn() bool {
	return !s.reads.t.isReadOnly() && !s.reads.t.versions.isEmpty()
}

// stop ends the scan.
func (s *versionScan) stop() {
	if s.end != nil {
		s.end()
		s.pairs, s.end = nil, nil
	}
}

// readBatch reads the versions of the next records, before the caller sees the first of these
// and may change the others: a record that comes as it was has the version that it had.
func (s *versionScan) readBatch(ctx context.Context, records []scan.Group) error {
	if s.reads.index == nil {
		return nil
	}
	s.batch = s.batch[:0]
	if s.pairs != nil && s.hasOwn() {
		s.stop()
	}
	if s.pairs == nil {
		return s.readEach(ctx, records)
	}
	for i := range records {
		stored, err := s.find(records[i].ID)
		if kv.CodeOf(err) == kv.CodeAccessedUnreadable && s.hasOwn() { // written since, by another goroutine
			s.stop()
			return s.readBatch(ctx, records)
		}
		if err != nil {
			return pending(err)
		}
		s.batch = append(s.batch, stored)
	}
	return nil
}

// readEach reads the versions of records one by one, in one round.
func (s *versionScan) readEach(ctx context.Context, records []scan.Group) error {
	s.reads.reads = s.reads.reads[:0]
	for i := range records {
		s.reads.add(records[i].ID)
	}
	for _, read := range s.reads.reads {
		stored, err := read.Get(ctx)
		if err != nil {
			return pending(err)
		}
		s.batch = append(s.batch, stored)
	}
	return nil
}

// fill sets the version of the next record of the batch.
func (s *versionScan) fill(record any) error {
	if s.reads.index == nil {
		return nil
	}
	stored := s.batch[0]
	s.batch = s.batch[1:]
	return s.reads.record.setVersion(record, stored)
}

// find returns the stored version of the record with that packed id, which is behind those
// before; nil if there is none.
func (s *versionScan) find(id []byte) ([]byte, error) {
	for !s.ended && (s.pair.Key == nil || s.isBefore(id)) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if s.ended || !bytes.Equal(s.pair.Key[len(s.reads.index.versions):], id) {
		return nil, nil
	}
	return s.pair.Value, nil
}

// isBefore reports whether the version read last is of a record before id.
func (s *versionScan) isBefore(id []byte) bool {
	order := bytes.Compare(s.pair.Key[len(s.reads.index.versions):], id)
	if s.reverse {
		order = -order
	}
	return order < 0
}

func (s *versionScan) next() error {
	pair, err, ok := s.pairs()
	s.pair, s.ended = pair, !ok
	return err
}
