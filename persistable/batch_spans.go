// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
)

// spans make one range read of many gets. New records often have ids, and unique values, that
// ascend in the list, with nothing or little between them in the database: then one snapshot
// read of the range from the first key to the last answers for all keys of a keyspace. A read
// conflict range for each key, and none for what lies between, makes the transaction conflict as
// the gets would.
//
// If more than [mostBetween] pairs lie in the range, the batch gets its keys, in one more round
// of reads, and so do the batches after it, in one round.
type spans struct {
	enabled bool
	store   *openStore // that all is of
	all     []span
	asked   [][]byte // the keys of one call of the engine
	places  []int    // of these keys in the batch
}

const (
	mostBetween   = 8  // pairs of a range that are read, which may be large
	fewestSpanned = 16 // keys that a range read is worth
)

// span is the range of the keys that a batch reads in one keyspace.
type span struct {
	prefix     []byte // of the keyspace
	crowded    bool   // the range of a batch had more than mostBetween pairs
	by         readBy
	first      []byte
	last       []byte
	keys       int
	disordered bool                // the keys do not ascend
	read       kv.Future[kv.Batch] // of the range
	found      []kv.KeyValue       // all that lies in it
}

// readBy says how a batch reads the keys of a span.
type readBy uint8

const (
	byGet     readBy = iota
	byRange          // with one range read
	byLateGet        // after a range read that has found too much
)

// begin starts the range reads for the keys of a batch.
func (s *spans) begin(tx kv.ReadTransaction, store *openStore, keys [][]byte) {
	s.release()
	if s.store != store {
		s.list(store)
	}
	for _, key := range keys {
		if p := s.of(key); p != nil {
			p.add(key)
		}
	}
	for i := range s.all {
		s.all[i].start(tx)
	}
}

// list lists the keyspaces of a store that batches read.
func (s *spans) list(store *openStore) {
	s.store, s.all = store, []span{{prefix: store.records.Prefix}}
	for i := range store.maintained {
		if ix := &store.maintained[i]; ix.Unique && ix.State != index.Disabled {
			s.all = append(s.all, span{prefix: ix.Prefix})
		}
	}
}

// of returns the span of the keyspace that has the key; nil: there is none.
func (s *spans) of(key []byte) *span {
	for i := range s.all {
		if bytes.HasPrefix(key, s.all[i].prefix) {
			return &s.all[i]
		}
	}
	return nil
}

// startReads starts or makes the reads of the keys, and appends their futures.
func (s *spans) startReads(ctx context.Context, futures []kv.Future[[]byte], tx kv.Transaction, keys [][]byte) ([]kv.Future[[]byte], error) {
	futures = slices.Grow(futures, len(keys))[:len(keys)]
	s.startGets(futures, tx, keys, byGet)
	for i := range s.all {
		if err := s.all[i].await(ctx); err != nil {
			return futures, err
		}
	}
	s.startGets(futures, tx, keys, byLateGet)
	for i, key := range keys {
		p := s.of(key)
		if p == nil || p.by != byRange {
			continue
		}
		if err := tx.AddReadConflictKey(key); err != nil {
			return futures, err
		}
		futures[i] = kv.Resolved(p.value(key), nil)
	}
	return futures, nil
}

// startGets starts the gets of those keys that are read that way.
func (s *spans) startGets(futures []kv.Future[[]byte], tx kv.ReadTransaction, keys [][]byte, by readBy) {
	s.asked, s.places = s.asked[:0], s.places[:0]
	for i, key := range keys {
		if p := s.of(key); p == nil && by == byGet || p != nil && p.by == by {
			s.asked, s.places = append(s.asked, key), append(s.places, i)
		}
	}
	if len(s.asked) == 0 {
		return
	}
	for i, f := range kv.GetMany(tx, s.asked) {
		futures[s.places[i]] = f
	}
}

// release forgets the keys of a batch, and what was read of them.
func (s *spans) release() {
	clear(s.asked)
	for i := range s.all {
		p := &s.all[i]
		*p = span{prefix: p.prefix, crowded: p.crowded}
	}
}

// add adds a key of the batch.
func (p *span) add(key []byte) {
	if p.keys++; p.keys == 1 {
		p.first = key
	}
	p.disordered = p.disordered || bytes.Compare(p.last, key) > 0
	p.last = key
}

// start starts the range read, if it may answer for the keys.
func (p *span) start(tx kv.ReadTransaction) {
	if p.keys < fewestSpanned || p.disordered || p.crowded {
		return
	}
	p.by = byRange
	r := kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(p.first), End: kv.FirstGreaterThan(p.last)}
	p.read = tx.Snapshot().GetRange(r, kv.RangeOptions{Limit: mostBetween + 1, Mode: kv.ModeExact}).First()
}

// await waits for the range read, if there is one.
func (p *span) await(ctx context.Context) error {
	if p.by != byRange {
		return nil
	}
	batch, err := p.read.Get(ctx)
	if p.crowded = batch.More || len(batch.KVs) > mostBetween; p.crowded {
		p.by = byLateGet
	}
	p.found = batch.KVs
	return err
}

// value returns what the range read has found under a key.
func (p *span) value(key []byte) []byte {
	for _, pair := range p.found {
		if bytes.Equal(pair.Key, key) {
			return pair.Value
		}
	}
	return nil
}
