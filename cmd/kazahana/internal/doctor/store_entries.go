// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
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
