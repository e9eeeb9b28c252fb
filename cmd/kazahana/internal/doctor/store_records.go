// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// decode returns the bytes of a record after its header, or what is wrong with it.
func (s *store) decode(r *record) ([]byte, *fault) {
	if r.astray {
		return nil, newFault("record/wrong-shard", r.key, "its id belongs to shard %d of %d", index.Shards(s.decoder.Shards()).Of(r.id), s.decoder.Shards())
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
	shards := index.Shards(s.decoder.Shards())
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
// does not belong to a record.
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

// compareRecord begins to check that a record can be read, and has its entries.
func (s *store) compareRecord(b *batch, r *record) awaitFunc {
	checks, wrong := s.beginChecks(b, r)
	var blobs []blobCheck
	if wrong == nil {
		blobs = s.beginBlobs(b, r)
	}
	return func(ctx context.Context) error {
		b.keys += r.keys()
		if r.id != nil {
			b.records++
			b.bytes += r.size()
		}
		if wrong != nil {
			b.then(func() { s.damaged = s.damaged || r.id != nil })
			s.reportRecord(b, r, wrong)
		}
		if r.other != nil {
			s.reportRecord(b, r, r.other)
		}
		if err := s.awaitEntries(ctx, b, checks); err != nil {
			return err
		}
		return s.awaitBlobs(ctx, b, r, blobs)
	}
}

func (s *store) reportRecord(b *batch, r *record, wrong *fault) {
	f := s.finding(wrong.code, wrong.key, "%s", wrong.text)
	if r.id != nil {
		f.ID = tuple.Describe(r.id)
	}
	b.report(f)
}

// beginChecks starts to read the entries of a record.
func (s *store) beginChecks(b *batch, r *record) (checks []entryCheck, wrong *fault) {
	if r.id == nil {
		return nil, newFault("record/bad-key", r.key, "%v", errKey)
	}
	payload, wrong := s.decode(r)
	if wrong != nil {
		return nil, wrong
	}
	if err := s.gather(&s.set, r.id, payload); err != nil {
		return nil, newFault("record/undecodable", r.key, "%v", err)
	}
	for i := range s.indexes {
		ix := &s.indexes[i]
		if !ix.Kind.HasEntries() {
			continue
		}
		for n := range s.set.Keys(i) {
			key := bytes.Clone(s.set.Key(i, n))
			want := ix.AppendValue(nil, s.set.Record(i, ix, r.indexRecord()))
			checks = append(checks, entryCheck{ix, r.id, key, want, b.get(key)})
		}
	}
	return checks, nil
}

// awaitEntries waits for entries, and compares them.
func (s *store) awaitEntries(ctx context.Context, b *batch, checks []entryCheck) error {
	for _, check := range checks {
		value, err := b.await(ctx, check.value)
		if err != nil {
			return err
		}
		if f := check.fault(value); f != nil {
			b.report(s.entryFinding(f.code, check.index, f.key, check.id, "%s", f.text))
		}
	}
	return nil
}

// record is the keys of one record.
type record struct {
	id     []byte // packed; nil: the key does not belong to a record
	key    []byte
	value  []byte // nil: only chunks are there
	astray bool   // it is not in the shard of its id
	chunks []kv.KeyValue
	other  *fault // decoded, it says another directory than its own; nil: it does not
}

// payload joins the bytes of the record.
func (r *record) payload() ([]byte, *fault) {
	if r.value == nil {
		return nil, newFault("record/missing-head", r.key, "there are %d chunks, and no first value", len(r.chunks))
	}
	decoded, err := format.ParseRecord(r.value)
	if err != nil {
		return nil, newFault("record/bad-header", r.key, "%v", reasonOf(err))
	}
	if decoded.Chunks == 0 && len(r.chunks) == 0 {
		return decoded.Payload, nil
	}
	if f := r.checkChunks(decoded.Chunks); f != nil {
		return nil, f
	}
	whole := append(make([]byte, 0, r.size()), decoded.Payload...)
	for _, chunk := range r.chunks {
		whole = append(whole, chunk.Value...)
	}
	return whole, nil
}

// checkChunks checks that the record has n chunks, and their sizes.
func (r *record) checkChunks(n int) *fault {
	if n > 0 && len(r.value) != kv.MaxValueSize {
		return newFault("record/torn-chunk", r.key, "its first value has %d bytes instead of %d", len(r.value), kv.MaxValueSize)
	}
	for i, chunk := range r.chunks {
		number, _, err := tuple.ReadInt(chunk.Key[len(r.key):])
		switch size := len(chunk.Value); {
		case err != nil || number < 1 || !bytes.Equal(chunk.Key, tuple.AppendInt(bytes.Clone(r.key), number)):
			return newFault("record/bad-key", chunk.Key, "it follows the key of a record, but is not that of a chunk")
		case number > int64(n):
			return newFault("record/surplus-chunk", chunk.Key, "the record has %d chunks, by its header", n)
		case number != int64(i+1):
			return newFault("record/missing-chunk", r.key, "chunk %d of %d is missing", i+1, n)
		case i+1 < n && size != kv.MaxValueSize, i+1 == n && (size == 0 || size > kv.MaxValueSize):
			return newFault("record/torn-chunk", chunk.Key, "it has %d bytes instead of %d", size, kv.MaxValueSize)
		}
	}
	if len(r.chunks) < n {
		return newFault("record/missing-chunk", r.key, "chunk %d of %d is missing", len(r.chunks)+1, n)
	}
	return nil
}

// size returns how many bytes the values of the record have.
func (r *record) size() int64 {
	n := len(r.value)
	for _, chunk := range r.chunks {
		n += len(chunk.Value)
	}
	return int64(n)
}

// indexRecord returns what entries copy of the record.
func (r *record) indexRecord() index.Record {
	if len(r.chunks) > 0 {
		return index.Record{ID: r.id}
	}
	return index.Record{ID: r.id, Value: r.value}
}

// owns reports whether a key is that of the record, or of a chunk of it.
func (r *record) owns(key []byte) bool {
	return r.id != nil && (bytes.Equal(key, r.key) || isChunkKey(r.key, key))
}

// bounds returns the range of the record's keys.
func (r *record) bounds() kv.KeyRange {
	if r.id == nil {
		return kv.KeyRange{Begin: r.key, End: kv.Successor(r.key)}
	}
	return kv.KeyRange{Begin: r.key, End: chunkRange(r.key).End}
}

// keys returns how many keys the record has.
func (r *record) keys() int64 {
	if r.value == nil {
		return int64(len(r.chunks))
	}
	return int64(len(r.chunks)) + 1
}

func (r *record) add(pair kv.KeyValue) {
	if len(pair.Key) == len(r.key) {
		r.value = pair.Value
		return
	}
	r.chunks = append(r.chunks, pair)
}

// errKey says that a key is not that of a record or its chunk.
var errKey = errors.New("it is not the key of a record")

// entryCheck is the read of an entry that a record must have.
type entryCheck struct {
	index         *index.Index
	id, key, want []byte
	value         kv.Future[[]byte]
}

// fault compares an entry with what it should be.
func (c *entryCheck) fault(value []byte) *fault {
	switch {
	case value == nil:
		return newFault("index/missing-entry", c.key, "the record has no entry")
	case bytes.Equal(value, c.want):
		return nil
	case c.index.Unique:
		owner, _, err := index.SplitUnique(c.index.Definition, c.key, value)
		if err != nil {
			return newFault("index/bad-entry", c.key, "%v", err)
		}
		if !bytes.Equal(owner, c.id) {
			return newFault("index/wrong-owner", c.key, "the entry names the record %s", tuple.Describe(owner))
		}
	}
	return newFault("index/wrong-value", c.key, "the entry holds another copy of the record")
}

// chunkRange returns the range of the chunks after a key that ends with a tuple's element.
// A key that goes on with 0xff has another element there: "a\x00b" is 02 61 00 ff 62 00, and
// "a" is 02 61 00.
func chunkRange(head []byte) kv.KeyRange {
	return kv.KeyRange{Begin: kv.Successor(head), End: append(bytes.Clone(head), 0xff)}
}

// isChunkKey reports whether a key lies in the range of the chunks after another one.
func isChunkKey(head, key []byte) bool {
	return len(key) > len(head) && bytes.HasPrefix(key, head) && key[len(head)] != 0xff
}
