// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// deletion is a DeleteWhere under way.
type deletion struct {
	*batcher
	q     *query
	from  cursor // of the next transaction
	ended bool   // no record is left

	// Of the current transaction: where it ended, how many records it deleted, and
	// which ones attempts deleted that may have committed.
	next   cursor
	ids    [][]byte
	lost   map[string]bool
	finish bool
}

// newDeletion returns the deletion of the records of a query of the store.
func newDeletion(s *source, q *query, o BatchOptions) (*deletion, error) {
	m, err := newBatcher(s, o)
	if err != nil {
		return nil, err
	}
	if err := q.checkUsable(); err != nil {
		return nil, err
	}
	if q.place != s.place || q.withDeleted != s.withDeleted {
		return nil, fmt.Errorf("persistable: %s: DeleteWhere: the query is of another store", s.record.Type)
	}
	q.tx = nil // the reads are those of the deletion's transactions
	return &deletion{batcher: m, q: q, from: cursor{limit: q.limit}}, nil
}

// run deletes the records and returns how many it has deleted.
func (d *deletion) run(ctx context.Context) (int, error) {
	for !d.ended {
		if err := d.deleteSome(ctx); err != nil {
			return d.done, err
		}
	}
	return d.done, nil
}

// deleteSome deletes the next records in one transaction.
func (d *deletion) deleteSome(ctx context.Context) error {
	d.ids, d.lost = nil, nil
	if err := d.commit(ctx, func(b *batch, size int) (int, error) { return d.deleteNext(ctx, b, size) }); err != nil {
		return err
	}
	d.from, d.ended = d.next, d.finish
	return nil
}

// deleteNext is one attempt of deleteSome. It returns how many records are gone.
func (d *deletion) deleteNext(ctx context.Context, b *batch, size int) (int, error) {
	found, err := b.open(ctx, nil)
	if d.finish = !found; err != nil || !found {
		return 0, err
	}
	gone, err := d.countGone(ctx, b)
	if err != nil {
		return 0, err
	}
	if err := d.collect(ctx, b, size, gone); err != nil {
		return 0, err
	}
	applied, err := b.run(ctx)
	if err != nil {
		return 0, err
	}
	if b.fault != nil && (applied > 0 || b.hooked) {
		b.t.spoil(b.fault) // which ones are deleted the caller is not told
	}
	return gone + len(b.writes), b.fault
}

// countGone returns how many records are gone that attempts before deleted, if these
// may have committed.
func (d *deletion) countGone(ctx context.Context, b *batch) (n int, err error) {
	if !b.t.unsure {
		return 0, nil
	}
	if d.lost == nil {
		d.lost = map[string]bool{}
	}
	if b.t.conflicts == 0 { // the attempt before may be the one that committed
		for _, id := range d.ids {
			d.lost[string(id)] = true
		}
	}
	f := fetches{record: d.source.record, reader: b.t.writer, records: b.store.records}
	for id := range d.lost {
		f.add([]byte(id))
	}
	f.start()
	for i, read := range f.values {
		value, err := read.Get(ctx)
		var v any
		if err == nil && d.source.hidden() != nil {
			v, err = f.awaitRecord(ctx, i)
		}
		if err != nil {
			return 0, err
		}
		if value == nil || d.source.hides(v) {
			n++
		}
	}
	return n, nil
}

// collect adds the next records of the query to a batch, if gone of them are deleted
// already.
func (d *deletion) collect(ctx context.Context, b *batch, size, gone int) error {
	d.ids, d.next = nil, d.from
	left := d.from.limit - gone
	if d.finish = d.from.limit > 0 && left <= 0; d.finish {
		return nil
	}
	asked := size
	if d.from.limit > 0 {
		asked = min(size, left)
	}
	d.next.limit = asked
	found, err := d.addRecords(ctx, b)
	d.next.limit, d.next.done = 0, false
	if d.finish = found < asked; d.from.limit > 0 {
		d.next.limit, d.finish = left-found, d.finish || left == found
	}
	return err
}

// addRecords adds the records of the query up to the limit of the cursor d.next, and
// returns how many the query had. A record may come twice, if it has several entries. All are read
// before the first is added, because hooks and cascades may delete others of them.
func (d *deletion) addRecords(ctx context.Context, b *batch) (found int, err error) {
	seen := map[string]bool{}
	for v, err := range d.q.records(ctx, d.reader(b), &d.next) {
		if err != nil {
			return found, err
		}
		id := d.source.record.appendID(nil, v)
		if found++; seen[string(id)] {
			continue
		}
		seen[string(id)] = true
		d.ids = append(d.ids, id)
	}
	for _, id := range d.ids {
		if err := b.addDeletion(ctx, id); err != nil {
			return found, err
		}
	}
	return found, nil
}

// reader returns the transaction that reads the query. Unless the transaction is the
// caller's, its range reads conflict with no write: a record that changes conflicts by
// its own key.
func (d *deletion) reader(b *batch) *transaction {
	if d.source.tx != nil {
		return b.t
	}
	t := &transaction{db: b.t.db, Transaction: scan.Transaction{Reader: b.t.Reader.Snapshot()}, asked: true}
	t.opened.add(d.source.place, b.store)
	return t
}
