// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// get returns the record with the packed id in sc.
func (s source) get(ctx context.Context, sc *scratch) (v any, err error) {
	ctx, o := s.begin(ctx, "Get", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Get", sc.id, nil, &err)
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	if s.tx != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return s.getIn(ctx, s.tx, sc)
	}
	// One allocation for all attempts.
	g := singleGet{source: s, ctx: ctx, sc: sc, operation: o}
	if err := o.engine(s.db).ReadTransact(ctx, g.run); err != nil {
		return nil, err
	}
	return g.v, nil
}

// singleGet is a get in a transaction of its own.
type singleGet struct {
	source source
	ctx    context.Context
	sc     *scratch
	t      transaction
	v      any

	operation *operation
}

func (g *singleGet) run(reader kv.ReadTransaction) (err error) {
	g.operation.startAttempt()
	g.t = transaction{db: g.source.db, operation: g.operation, Transaction: scan.Transaction{Reader: g.operation.measureReads(reader).Snapshot()}}
	g.v, err = g.source.getIn(g.ctx, &g.t, g.sc)
	return g.operation.endAttempt(err)
}

func (s *source) getIn(ctx context.Context, t *transaction, sc *scratch) (any, error) {
	l := lookup{place: s.place, t: t, sc: sc, index: byID, suffix: sc.id}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	if l.store == nil || l.value == nil {
		return nil, s.notFound(sc.id)
	}
	v, err := s.record.readValue(ctx, t.Reader, sc.id, sc.key, l.value)
	if err != nil {
		return nil, err
	}
	if s.hides(v) {
		return nil, s.notFound(sc.id)
	}
	return v, l.versions.fill(ctx, 0, v)
}

func (s *source) notFound(id []byte) error {
	return fmt.Errorf("%w: %s %s%s", ErrNotFound, s.record.Type, idText(id), s.place.inDirectory())
}

// exists reports whether there is a record with the packed id in sc.
func (s *source) exists(ctx context.Context, sc *scratch) (found bool, err error) {
	ctx, o := s.begin(ctx, "Exists", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Exists", sc.id, nil, &err)
	err = s.runRead(ctx, func(t *transaction) error {
		l := lookup{place: s.place, t: t, sc: sc, index: byID, suffix: sc.id}
		err := l.run(ctx)
		if found = l.store != nil && l.value != nil; err != nil || !found || s.hidden() == nil {
			return err
		}
		v, err := s.record.readValue(ctx, t.Reader, sc.id, sc.key, l.value)
		found = !s.hides(v)
		return err
	})
	return found && err == nil, err
}

// getMany calls take with the records of n packed ids, in order, and with nil for a
// record that does not exist. Another attempt begins again with the first.
func (s *source) getMany(ctx context.Context, n int, id func(i int) []byte, take func(i int, v any)) (err error) {
	ctx, o := s.begin(ctx, "GetMany", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "GetMany", nil, nil, &err)
	return s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil {
			return err
		}
		f := fetches{record: s.record, reader: t.Reader}
		versions := newVersionReads(s.record, t, o)
		for i := range n {
			if o == nil {
				take(i, nil)
				continue
			}
			f.records = o.records
			f.add(id(i))
			versions.add(id(i))
		}
		f.start()
		for i := range f.values {
			v, err := f.awaitRecord(ctx, i)
			if err != nil {
				return err
			}
			if s.hides(v) {
				v = nil
			}
			if err := versions.fill(ctx, i, v); err != nil {
				return err
			}
			take(i, v)
		}
		return nil
	})
}

// byUnique returns the record that has a key of the schema's i-th index, which
// is unique, or [ErrNotFound].
//
// Cost: two rounds of reads, one if the index is covering.
func (s source) byUnique(ctx context.Context, i int, values []byte) (v any, err error) {
	ctx, o := s.begin(ctx, "GetUnique", i)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "GetUnique", nil, nil, &err)
	err = s.runRead(ctx, func(t *transaction) (err error) {
		if err := s.checkRecords(i); err != nil {
			return err
		}
		v, err = s.getUnique(ctx, t, i, values)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *source) getUnique(ctx context.Context, t *transaction, i int, values []byte) (any, error) {
	sc := getScratch()
	defer sc.release()
	l := lookup{place: s.place, t: t, sc: sc, index: i, suffix: values}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	if l.store == nil || l.value == nil {
		return nil, s.noOwner(i, values)
	}
	v, err := s.recordOfEntry(ctx, t, l.store, &l.store.indexes[i], sc.key, l.value)
	if s.hides(v) {
		return nil, s.noOwner(i, values)
	}
	return v, err
}

// recordOfEntry returns the record that a unique entry names or holds.
func (s *source) recordOfEntry(ctx context.Context, t *transaction, o *openStore, ix *index.Index, entry, value []byte) (v any, err error) {
	id, record, err := index.SplitUnique(ix.Definition, entry, value)
	if err != nil {
		return nil, s.record.indexError(err)
	}
	f := fetches{record: s.record, reader: t.Reader, records: o.records}
	versions := newVersionReads(s.record, t, o)
	versions.add(id)
	if len(record) > 0 && ix.Cover {
		v, err = s.record.readValue(ctx, t.Reader, id, o.records.Append(nil, id), record)
	} else {
		f.add(id)
		f.start()
		v, err = f.awaitRecord(ctx, 0)
	}
	if err == nil && v == nil {
		err = s.record.danglingEntry(ix, entry, id)
	}
	if err != nil {
		return nil, err
	}
	return v, versions.fill(ctx, 0, v)
}

func (s *source) noOwner(i int, values []byte) error {
	var with string
	if have, err := s.record.Indexes[i].Values(values); err == nil {
		with = valuesText(s.record.Indexes[i].Fields, have)
	}
	return fmt.Errorf("%w: %s with %s%s", ErrNotFound, s.record.Type, with, s.place.inDirectory())
}

// watch yields the record with that packed id, and each later state that it sees.
func (s source) watch(ctx context.Context, id []byte, yield func(any, error) bool) {
	err := s.checkUsable()
	if err == nil && s.tx != nil {
		err = fmt.Errorf("persistable: %s: Watch reads in transactions of its own: use a store that is not bound to one", s.record.Type)
	}
	w := watcher{source: &s, id: id}
	defer w.cancel()
	for err == nil {
		v, changed, failed := w.look(ctx)
		if err = failed; err != nil {
			break
		}
		if changed && !yield(v, nil) {
			return
		}
		err = w.wait(ctx)
	}
	yield(nil, err)
}

// entries returns the keys that the record with that packed id has.
func (s source) entries(ctx context.Context, id []byte) (all []erased.Entry, err error) {
	ctx, o := s.begin(ctx, "Entries", byID)
	defer o.finish(&err)
	err = s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil {
			return err
		}
		if o == nil {
			return s.notFound(id)
		}
		e := entryList{source: &s, reader: t.Reader, store: o, id: id}
		if err := e.readRecord(ctx); err != nil {
			return err
		}
		if err := e.readIndexes(ctx); err != nil {
			return err
		}
		all = e.all
		return nil
	})
	return all, err
}

// lookup reads the value of one key of a store: that of a record, or of an entry
// of a unique index.
type lookup struct {
	place  *place
	t      *transaction
	sc     *scratch
	index  int    // of the unique index; byID for a record
	suffix []byte // the packed id, or the packed values

	store *openStore // nil: there is none
	value []byte     // nil: the key has none; the key is in sc

	versions versionReads // of the record, if that is what is read
}

// run opens the store and reads the value, in one round: at first in the store as
// last known, and again if the transaction finds another one.
func (l *lookup) run(ctx context.Context) error {
	known := l.t.lastKnown(l.place)
	var failed error
	if known != nil {
		failed = l.readIn(ctx, known)
	}
	if failed != nil && ctx.Err() != nil {
		return failed // it says for how long
	}
	var err error
	if l.store, err = l.t.openStore(ctx, l.place); err != nil || l.store == nil {
		return err
	}
	if l.index != byID {
		if err := l.place.record.checkReadable(l.store, l.index); err != nil {
			return err
		}
	}
	if l.store != known {
		return l.readIn(ctx, l.store)
	}
	return failed
}

// readIn reads the value in a store.
func (l *lookup) readIn(ctx context.Context, o *openStore) (err error) {
	if l.index == byID {
		l.sc.key = o.records.Append(l.sc.key[:0], l.suffix)
		l.versions = newVersionReads(l.place.record, l.t, o)
		l.versions.add(l.suffix)
	} else {
		l.sc.key = append(append(l.sc.key[:0], o.indexes[l.index].Prefix...), l.suffix...)
	}
	l.value, err = l.t.Reader.Get(l.sc.key).Get(ctx)
	return err
}

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

// add adds a key that is a tuple after the prefix of the directory.
func (e *entryList) add(name string, kind index.Kind, key, value []byte) {
	t, _ := tuple.Unpack(key[len(e.store.prefix):]) // nil: keys of descending values
	e.all = append(e.all, erased.Entry{Index: name, Kind: string(kind), Key: key, Tuple: t, Value: value})
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
