// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// entryList reads all keys that a store has because of one record.
type entryList struct {
	source *source
	reader kv.ReadTransaction
	store  *openStore
	id     []byte
	key    []byte // of the record
	whole  format.Record
	all    []erased.Entry
}

// readRecord reads the record's own keys.
func (e *entryList) readRecord(ctx context.Context) error {
	e.key = e.store.records.Append(nil, e.id)
	value, err := e.reader.Get(e.key).Get(ctx)
	if err != nil {
		return err
	}
	if value == nil {
		return e.source.notFound(e.id)
	}
	if e.whole, err = e.source.record.readWhole(ctx, e.reader, e.id, e.key, value); err != nil {
		return err
	}
	e.add("", index.Value, e.key, value)
	for i := range e.whole.Chunks {
		key := format.AppendChunk(slices.Clone(e.key), i+1)
		part, err := e.reader.Get(key).Get(ctx) // it was read: the engine has it in memory, or near
		if err != nil {
			return err
		}
		e.add("", index.Value, key, part)
	}
	return nil
}

// readIndexes reads the record's keys in the indexes that are maintained.
func (e *entryList) readIndexes(ctx context.Context) error {
	r := e.source.record
	v, err := r.decodeRecord(e.whole, e.id, e.key)
	if err != nil {
		return err
	}
	var set index.Set
	if err := r.gatherBoth(&set, e.store, e.id, e.key, v, e.whole.Payload); err != nil {
		return err
	}
	for i := range e.store.maintained {
		ix := &e.store.maintained[i]
		if ix.Kind == index.Version {
			err = e.readVersion(ctx, ix)
		} else {
			err = e.readIndex(ctx, ix, &set, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readIndex reads the record's keys in an index, all in parallel.
func (e *entryList) readIndex(ctx context.Context, ix *index.Index, set *index.Set, i int) error {
	reads := make([]kv.Future[[]byte], set.Keys(i))
	for n := range reads {
		reads[n] = e.reader.Get(set.Key(i, n))
	}
	for n, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return err
		}
		e.add(ix.KeyName(), ix.Kind, slices.Clone(set.Key(i, n)), value)
		e.all[len(e.all)-1].Tuple = describeEntry(ix, set.Key(i, n))
	}
	return nil
}

// readVersion reads the two keys of the record's last change.
func (e *entryList) readVersion(ctx context.Context, ix *index.Index) error {
	if ix.State == index.Disabled {
		return nil
	}
	key := append(ix.Versions(), e.id...)
	version, err := e.reader.Get(key).Get(ctx)
	if err != nil {
		return err
	}
	e.add(ix.KeyName(), ix.Kind, key, version)
	if len(version) != index.VersionSize {
		return nil
	}
	key = ix.AppendVersionEntry(nil, version, e.id)
	value, err := e.reader.Get(key).Get(ctx)
	if err == nil {
		e.add(ix.KeyName(), ix.Kind, key, value)
	}
	return err
}

// add adds a key that is a tuple behind the prefix of the directory.
func (e *entryList) add(name string, kind index.Kind, key, value []byte) {
	t, _ := tuple.Unpack(key[len(e.store.prefix):]) // nil: keys of descending values
	e.all = append(e.all, erased.Entry{Index: name, Kind: kind, Key: key, Tuple: t, Value: value})
}

// describeEntry returns an entry's key as a tuple: ("I", name, shard, values…, id).
func describeEntry(ix *index.Index, key []byte) tuple.Tuple {
	all := tuple.Tuple{"I", ix.KeyName()}
	if space := scan.EntriesOf(ix); space.Shards > 0 {
		shard, _, _ := ix.Scatter.Cut(key[len(ix.Prefix):])
		all = append(all, int64(shard))
	}
	packed, id, err := ix.Split(key[len(ix.Prefix):])
	if err != nil {
		return nil
	}
	values, err1 := ix.Values(packed)
	last, err2 := tuple.Unpack(id)
	if err1 != nil || err2 != nil {
		return nil
	}
	return slices.Concat(all, values, last)
}
