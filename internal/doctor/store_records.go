// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

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
		return nil, newFault("record/wrong-directory", r.key, "its %s is %q", field, got)
	}
	return payload, nil
}

// readRecord reads a record by its id; nil if it is not there.
func (s *store) readRecord(ctx context.Context, tx kv.ReadTransaction, id []byte) (*record, error) {
	key := s.recordKey(id)
	pairs, err := tx.GetRange(kv.KeyRange{Begin: key, End: append(bytes.Clone(key), 0xff)}.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	r := &record{id: id, key: key}
	for _, pair := range pairs {
		r.add(pair)
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
	if err != nil {
		return nil, nil, false, errKey
	}
	id = suffix[:len(suffix)-len(rest)]
	return id, key[:len(key)-len(rest)], shards > 0 && shard != shards.Of(id), nil
}

// readRecords reads the first records of a range, whole, and returns where the next one
// begins; nil if there is none. Keys that are no record's are findings.
func (s *store) readRecords(ctx context.Context, tx kv.ReadTransaction, b *batch, r kv.KeyRange) (records []*record, next []byte, err error) {
	size := 0
	for pair, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeIterator}).All(ctx) {
		if err != nil {
			return nil, nil, err
		}
		id, key, astray, wrong := s.split(pair.Key)
		if wrong != nil {
			b.findings = append(b.findings, s.finding("record/bad-key", pair.Key, "%v", wrong))
			continue
		}
		if n := len(records); n == 0 || !bytes.Equal(records[n-1].key, key) {
			if n == batchPairs || size > batchBytes {
				return records, bytes.Clone(pair.Key), nil
			}
			records = append(records, &record{id: id, key: key, astray: astray})
		}
		records[len(records)-1].add(pair)
		b.keys++
		size += len(pair.Key) + len(pair.Value)
	}
	return records, nil, nil
}
