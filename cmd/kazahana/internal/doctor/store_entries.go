// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
)

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

// compareEntry begins to compare an entry of an index with its record.
func (s *store) compareEntry(b *batch, i int, pair kv.KeyValue) awaitFunc {
	ix := &s.indexes[i]
	o := owner{key: pair.Key}
	id, damaged := ownerOf(ix, pair)
	if damaged == nil {
		o.id, o.value = id, b.get(s.recordKey(id))
	}
	return func(ctx context.Context) error {
		b.keys++
		b.entries++
		if damaged != nil {
			b.report(s.entryFinding("index/bad-entry", ix, pair.Key, nil, "%v", damaged))
			return nil
		}
		reason, err := s.compareOwner(ctx, b, i, o)
		if err == nil && reason != "" {
			b.report(s.entryFinding("index/orphan-entry", ix, o.key, o.id, "%s", reason))
		}
		return err
	}
}

// compareOwner returns what is wrong with an entry, or "". A record that is damaged has
// been reported.
func (s *store) compareOwner(ctx context.Context, b *batch, i int, o owner) (string, error) {
	value, err := b.await(ctx, o.value)
	if err != nil {
		return "", err
	}
	if value == nil {
		return "its record is not there", nil
	}
	r := &record{id: o.id, key: s.recordKey(o.id), value: value}
	if _, wrong := r.payload(); wrong != nil {
		if r, err = s.readRecord(ctx, b, o.id); err != nil || r == nil {
			return "", err
		}
	}
	payload, wrong := s.decode(r)
	if wrong != nil {
		return "", nil
	}
	if err := s.gather(&s.set, o.id, payload); err != nil || s.set.Has(i, o.key) {
		return "", nil //nolint:nilerr // the pass over the records has reported it
	}
	return "its record has other values", nil
}

// versionCheck is the read of a key that another one needs.
type versionCheck struct {
	by, id []byte
	value  kv.Future[[]byte]
	record kv.Future[[]byte] // only its existence counts
	wrong  func(value []byte, exists bool) string
}

// await waits for the reads, and reports what is wrong.
func (c versionCheck) await(ctx context.Context, s *store, b *batch, ix *index.Index) error {
	value, err := b.await(ctx, c.value)
	if err != nil {
		return err
	}
	record, err := b.await(ctx, c.record)
	if err != nil {
		return err
	}
	if reason := c.wrong(value, record != nil); reason != "" {
		b.report(s.entryFinding("index/wrong-version", ix, c.by, c.id, "%s", reason))
	}
	return nil
}

// compareRecordVersion begins to check that a record has a version.
func (s *store) compareRecordVersion(b *batch, ix *index.Index, pair kv.KeyValue) awaitFunc {
	id, key, _, err := s.split(pair.Key)
	if err != nil || len(key) != len(pair.Key) {
		return nothing // a chunk, or a key that the pass over the records reports
	}
	at := append(ix.Versions(), id...)
	c := versionCheck{at, id, b.get(at), none, func(value []byte, _ bool) string {
		if value == nil {
			return "the record has no version"
		}
		return ""
	}}
	return func(ctx context.Context) error { return c.await(ctx, s, b, ix) }
}

// compareVersion begins to check that a version has its entry.
func (s *store) compareVersion(b *batch, ix *index.Index, pair kv.KeyValue) awaitFunc {
	id := pair.Key[len(ix.Versions()):]
	if len(pair.Value) != index.VersionSize {
		return func(context.Context) error {
			b.keys++
			b.report(s.entryFinding("index/wrong-version", ix, pair.Key, id, "it has %d bytes instead of %d", len(pair.Value), index.VersionSize))
			return nil
		}
	}
	entry := b.get(ix.AppendVersionEntry(nil, pair.Value, id))
	c := versionCheck{pair.Key, id, entry, b.get(s.recordKey(id)), func(value []byte, exists bool) string {
		switch deleted := bytes.Equal(value, []byte{1}); {
		case value == nil:
			return "the version has no entry"
		case deleted == exists || !deleted && !bytes.Equal(value, []byte{0}):
			return "its entry does not say whether the record is there"
		}
		return ""
	}}
	return func(ctx context.Context) error {
		b.keys++
		return c.await(ctx, s, b, ix)
	}
}

// compareVersionEntry begins to check that an entry is of the version of its record.
func (s *store) compareVersionEntry(b *batch, ix *index.Index, pair kv.KeyValue) awaitFunc {
	e, err := ix.ReadVersionEntry(pair)
	if err != nil {
		return func(context.Context) error {
			b.keys++
			b.entries++
			b.report(s.entryFinding("index/bad-entry", ix, pair.Key, nil, "%v", err))
			return nil
		}
	}
	version := b.get(append(ix.Versions(), e.ID...))
	c := versionCheck{pair.Key, e.ID, version, none, func(value []byte, _ bool) string {
		if !bytes.Equal(value, e.Version) {
			return "it is not the entry of the last change of its record"
		}
		return ""
	}}
	return func(ctx context.Context) error {
		b.keys++
		b.entries++
		return c.await(ctx, s, b, ix)
	}
}

// none is the read of no record, and nothing what waits for nothing.
var none = kv.Resolved[[]byte](nil, nil)

func nothing(context.Context) error { return nil }
