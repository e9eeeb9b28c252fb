// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// versionCheck is the read of a key that another one needs.
type versionCheck struct {
	by, id []byte
	value  kv.Future[[]byte]
	wrong  func(value []byte, exists bool) string
	record kv.Future[[]byte] // whose existence counts
}

// owner is the record that an entry names, and the read of it.
type owner struct {
	key, id []byte // of the entry; the packed id
	value   kv.Future[[]byte]
}

// ownerOf returns the packed id of the record that an entry names.
func ownerOf(ix *index.Index, pair kv.KeyValue) (id []byte, err error) {
	if ix.Unique {
		id, _, err = index.SplitUnique(ix.Definition, pair.Key, pair.Value)
		return id, err
	}
	_, id, err = ix.Split(pair.Key[len(ix.Prefix):])
	return id, err
}

// indexOf returns the number of a readable index, -1 for none.
func (s *store) indexOf(name string) int {
	for i := range s.indexes {
		if s.indexes[i].KeyName() == name {
			return i
		}
	}
	return -1
}

// compareEntries compares entries with their records.
func (s *store) compareEntries(ctx context.Context, tx kv.ReadTransaction, b *batch, i int, pairs []kv.KeyValue) error {
	ix := &s.indexes[i]
	var owners []owner
	for _, pair := range pairs {
		b.entries++
		id, err := ownerOf(ix, pair)
		if err != nil {
			b.findings = append(b.findings, s.entryFinding("index/bad-entry", ix, pair.Key, nil, "%v", err))
			continue
		}
		owners = append(owners, owner{pair.Key, id, tx.Get(s.recordKey(id))})
	}
	for _, o := range owners {
		reason, err := s.compareOwner(ctx, tx, i, o)
		if err != nil {
			return err
		}
		if reason != "" {
			b.findings = append(b.findings, s.entryFinding("index/orphan-entry", ix, o.key, o.id, "%s", reason))
		}
	}
	return nil
}

// compareOwner returns what is wrong with an entry, or "". A record that is damaged has
// been reported.
func (s *store) compareOwner(ctx context.Context, tx kv.ReadTransaction, i int, o owner) (string, error) {
	value, err := o.value.Get(ctx)
	if err != nil {
		return "", err
	}
	if value == nil {
		return "its record is not there", nil
	}
	r := &record{id: o.id, key: s.recordKey(o.id), value: value}
	if _, wrong := r.payload(); wrong != nil {
		if r, err = s.readRecord(ctx, tx, o.id); err != nil || r == nil {
			return "", err
		}
	}
	payload, wrong := s.decode(r)
	if wrong != nil {
		return "", nil
	}
	var set index.Set
	if err := s.gather(&set, o.id, payload); err != nil || set.Has(i, o.key) {
		return "", nil //nolint:nilerr // the pass over the records has reported it
	}
	return "its record has other values", nil
}

// awaitVersions waits for the reads, and reports what is wrong.
func (s *store) awaitVersions(ctx context.Context, b *batch, ix *index.Index, checks []versionCheck) error {
	for _, c := range checks {
		value, err := c.value.Get(ctx)
		if err != nil {
			return err
		}
		record, err := c.record.Get(ctx)
		if err != nil {
			return err
		}
		if reason := c.wrong(value, record != nil); reason != "" {
			b.findings = append(b.findings, s.entryFinding("index/wrong-version", ix, c.by, c.id, "%s", reason))
		}
	}
	return nil
}

// compareRecordVersions checks that records have versions.
func (s *store) compareRecordVersions(ctx context.Context, tx kv.ReadTransaction, b *batch, ix *index.Index, pairs []kv.KeyValue) error {
	var checks []versionCheck
	var last []byte
	for _, pair := range pairs {
		id, key, _, err := s.split(pair.Key)
		if err != nil || bytes.Equal(key, last) || len(key) != len(pair.Key) {
			continue // the pass over the records reports it
		}
		last = key
		at := append(ix.Versions(), id...)
		checks = append(checks, versionCheck{at, id, tx.Get(at), func(value []byte, _ bool) string {
			if value == nil {
				return "the record has no version"
			}
			return ""
		}, none})
	}
	b.keys = 0
	return s.awaitVersions(ctx, b, ix, checks)
}

// compareVersions checks that versions have entries.
func (s *store) compareVersions(ctx context.Context, tx kv.ReadTransaction, b *batch, ix *index.Index, pairs []kv.KeyValue) error {
	var checks []versionCheck
	for _, pair := range pairs {
		id := pair.Key[len(ix.Versions()):]
		if len(pair.Value) != index.VersionSize {
			b.findings = append(b.findings, s.entryFinding("index/wrong-version", ix, pair.Key, id, "it has %d bytes instead of %d", len(pair.Value), index.VersionSize))
			continue
		}
		checks = append(checks, versionCheck{pair.Key, id, tx.Get(ix.AppendVersionEntry(nil, pair.Value, id)), func(value []byte, exists bool) string {
			switch deleted := bytes.Equal(value, []byte{1}); {
			case value == nil:
				return "the version has no entry"
			case deleted == exists || !deleted && !bytes.Equal(value, []byte{0}):
				return "its entry does not say whether the record is there"
			}
			return ""
		}, tx.Get(s.recordKey(id))})
	}
	return s.awaitVersions(ctx, b, ix, checks)
}

// compareVersionEntries checks that entries are of the versions of their records.
func (s *store) compareVersionEntries(ctx context.Context, tx kv.ReadTransaction, b *batch, ix *index.Index, pairs []kv.KeyValue) error {
	var checks []versionCheck
	for _, pair := range pairs {
		b.entries++
		e, err := ix.ReadVersionEntry(pair)
		if err != nil {
			b.findings = append(b.findings, s.entryFinding("index/bad-entry", ix, pair.Key, nil, "%v", err))
			continue
		}
		checks = append(checks, versionCheck{pair.Key, e.ID, tx.Get(append(ix.Versions(), e.ID...)), func(value []byte, _ bool) string {
			if !bytes.Equal(value, e.Version) {
				return "it is not the entry of the last change of its record"
			}
			return ""
		}, none})
	}
	return s.awaitVersions(ctx, b, ix, checks)
}

// none is the read of no record.
var none = kv.Resolved[[]byte](nil, nil)
