// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// decode returns the bytes of a record behind its header, or what is wrong with it.
func (s *store) decode(r *record) ([]byte, *fault) {
	if r.astray {
		return nil, newFault("record/wrong-shard", r.key, "its id belongs to shard %d of %d", s.decoder.Shards().Of(r.id), s.decoder.Shards())
	}
	payload, f := r.payload()
	if f != nil {
		return nil, f
	}
	v, id, err := s.decoder.Decode(payload)
	if err != nil {
		return nil, newFault("record/undecodable", r.key, "%v", err)
	}
	if !bytes.Equal(id, r.id) {
		return nil, newFault("record/wrong-id", r.key, "it says that its id is %s", tuple.Describe(id))
	}
	if field, got, same := s.decoder.CheckDirectory(v); !same {
		r.other = newFault("record/other-directory", r.key, "its %s is %q", field, got)
	}
	return payload, nil
}

// readRecord reads a record by its id; nil if it is not there.
func (s *store) readRecord(ctx context.Context, b *batch, id []byte) (*record, error) {
	r := &record{id: id, key: s.recordKey(id)}
	for pair, err := range b.pairs(ctx, r.bounds(), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return nil, err
		}
		r.add(pair)
	}
	if r.value == nil && len(r.chunks) == 0 {
		return nil, nil
	}
	return r, nil
}

// split returns the packed id and the key of the record that a key is of.
func (s *store) split(key []byte) (id, own []byte, astray bool, err error) {
	front := len(s.pack(letterRecord, s.typ))
	shards := s.decoder.Shards()
	shard, suffix, err := shards.Cut(key[front:])
	if err != nil || len(suffix) == 0 {
		return nil, nil, false, errKey
	}
	rest, err := tuple.Skip(suffix)
	own = key[:len(key)-len(rest)]
	if err != nil || len(rest) > 0 && !isChunkKey(own, key) {
		return nil, nil, false, errKey
	}
	id = suffix[:len(suffix)-len(rest)]
	return id, own, shards > 0 && shard != shards.Of(id), nil
}

// recordOf returns the record, still empty, that a key is of; one without an id if the key
// is no record's.
func (s *store) recordOf(key []byte) *record {
	id, own, astray, err := s.split(key)
	if err != nil {
		return &record{key: key}
	}
	return &record{id: id, key: own, astray: astray}
}

// records reads the records of a range, whole, and keys among them that are no record's.
func (s *store) records(ctx context.Context, b *batch, r kv.KeyRange) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		var last *record
		for pair, err := range b.pairs(ctx, r, kv.RangeOptions{Mode: kv.ModeIterator}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if last == nil || !last.owns(pair.Key) {
				if last != nil && !yield(last, nil) {
					return
				}
				last = s.recordOf(pair.Key)
			}
			last.add(pair)
		}
		if last != nil {
			yield(last, nil)
		}
	}
}
