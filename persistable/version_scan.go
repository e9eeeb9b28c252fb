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
}

// newVersionScan starts the reads for a scan, if the records have a field for the version.
// A range of versions of which the transaction has written some cannot be read.
func newVersionScan(ctx context.Context, q *query, t *transaction, o *openStore, p plan, c *cursor) *versionScan {
	s := &versionScan{reads: newVersionReads(q.record, t, o), reverse: q.reverse}
	x := s.reads.index
	if x == nil || !t.isReadOnly() && !t.versions.isEmpty() {
		return s
	}
	r := q.keyRange(p, scan.Keyspace{Prefix: x.versions}, c)
	keys := r.Bounds.Range(x.versions)
	versions := t.Reader.GetRange(keys.Selectors(), kv.RangeOptions{Reverse: q.reverse})
	s.pairs, s.end = iter.Pull2(versions.All(ctx))
	return s
}

// stop ends the scan.
func (s *versionScan) stop() {
	if s.end != nil {
		s.end()
	}
}

// fill sets the version of the record with that packed id, which is behind those before.
func (s *versionScan) fill(ctx context.Context, id []byte, record any) error {
	x := s.reads.index
	if x == nil {
		return nil
	}
	if s.pairs == nil {
		s.reads.reads = s.reads.reads[:0]
		s.reads.add(id)
		return s.reads.fill(ctx, 0, record)
	}
	for !s.ended && (s.pair.Key == nil || s.isBefore(id)) {
		if err := s.next(); err != nil {
			return pending(err)
		}
	}
	if s.ended || !bytes.Equal(s.pair.Key[len(x.versions):], id) {
		return s.reads.record.setVersion(record, nil)
	}
	return s.reads.record.setVersion(record, s.pair.Value)
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
