// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// fill writes the entries of the records of a batch.
type fill struct {
	*buildTransaction
	batch build.Batch
	taken build.Portion

	indexes []index.Index // all that the store maintains; only those of the batch are not disabled
	behind  []byte        // the key behind the last record
	read    int           // bytes of the records
	set     index.Set
	entries *index.Fill
	ids     [][]byte // of the records without versions, perhaps
}

// run reads the records as a snapshot: the build adds the conflict range of those that
// were taken.
func (f *fill) run(ctx context.Context) error {
	f.indexes = slices.Clone(f.store.maintained)
	for i := range f.indexes {
		if !f.batch.Indexes[i] {
			f.indexes[i].State = index.Disabled
		}
	}
	f.entries = index.NewFill(f.t.writer, f.indexes)
	snapshot := &transaction{db: f.t.db, Transaction: scan.Transaction{Reader: f.t.writer.Snapshot()}}
	q := query{source: *f.source, plan: plan{Index: byID, AsIs: true, Bounds: index.Bounds{}.From(f.batch.From).Before(f.batch.To)}}
	for g, err := range q.recordGroups(ctx, snapshot, f.store, q.plan, &cursor{}, nil) {
		if err != nil {
			return err
		}
		if f.isFull() {
			f.taken.Next = f.behind
			break
		}
		if err := f.add(&q, g); err != nil {
			return err
		}
	}
	if err := f.entries.Finish(ctx); err != nil {
		return f.record.indexError(err)
	}
	return f.setVersions(ctx)
}

// isFull reports whether the batch ends behind the last record.
func (f *fill) isFull() bool {
	return f.taken.Records > 0 && (f.taken.Records >= f.batch.Records || f.taken.Bytes >= f.batch.Bytes)
}

// add adds a record to the batch.
func (f *fill) add(q *query, g scan.Group) error {
	s, err := q.parseGroup(g)
	if err != nil {
		return err
	}
	if err := f.gather(g, s); err != nil {
		return err
	}
	f.entries.Add(&f.set, g.IndexRecord())
	f.noteID(g.ID)
	f.behind = append(slices.Clone(g.Key[len(f.store.records.Prefix):]), 0xff) // and behind its chunks
	f.read += g.Size()
	f.taken.Records++
	f.taken.Bytes = f.read + f.entries.Size()
	return nil
}

// gather collects the entries of a record in the indexes of the batch.
func (f *fill) gather(g scan.Group, s format.Record) error {
	v, err := f.record.decodeRecord(s, g.ID, g.Key)
	if err != nil {
		return err
	}
	limited := *f.store
	limited.indexes, limited.maintained = f.indexes[:len(f.store.indexes)], f.indexes
	return f.record.gatherBoth(&f.set, &limited, g.ID, g.Key, v, s.Payload)
}
