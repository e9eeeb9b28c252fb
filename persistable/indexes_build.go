// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// BuildOptions say how [Indexes.Build] works. The zero value is ready to use.
type BuildOptions struct {
	// Workers is how many goroutines of this process build, each in transactions of
	// its own over records of its own. The default value is 1. Other processes may
	// build at the same time, with workers of their own.
	Workers int
	// Share is the part of its time that each worker works, from 0.01 to 1. It pauses for
	// the remaining time, in which the commits of other programs do not wait behind the
	// build's. The default value is 0.5. With 1 a worker pauses only after conflicts.
	Share float64
	// BytesPerSecond limits what the workers of this process read and write together.
	// The default value, 0, sets no limit. Apart from it, workers do less, and pause,
	// while their transactions conflict with writes.
	BytesPerSecond int
	// RangeBytes is the least size of the ranges of records that workers claim, by the
	// engine's estimate. The default value is a megabyte; with more than 512 megabytes
	// of records ranges are larger. The process that begins a build decides.
	RangeBytes int
	// Lease is how long a worker's claim on a range of records may stay without any
	// change before other processes take the range over: after that time they replace
	// a process that was killed. The default value is ten seconds.
	Lease time.Duration
	// Progress, if it is not nil, is called after each batch of records, one call at a
	// time. The build waits for it.
	Progress func(BuildProgress)
}

// Validate reports all faults of the options, joined.
func (o BuildOptions) Validate() error {
	var faults []error
	for name, n := range map[string]int64{"Workers": int64(o.Workers), "BytesPerSecond": int64(o.BytesPerSecond), "RangeBytes": int64(o.RangeBytes), "Lease": int64(o.Lease)} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("persistable: BuildOptions.%s is %d, must not be negative", name, n))
		}
	}
	if o.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("persistable: BuildOptions.Workers is %d, at most %d are possible", o.Workers, maxWorkers))
	}
	if o.Share != 0 && !(o.Share >= minShare && o.Share <= 1) { // so that NaN is a fault
		faults = append(faults, fmt.Errorf("persistable: BuildOptions.Share is %v, must be from %v to 1", o.Share, minShare))
	}
	return errors.Join(faults...)
}

const (
	maxWorkers   = 1000
	minShare     = 0.01
	defaultShare = 0.5
	defaultLease = 10 * time.Second
)

// internal returns the options of package build.
func (o BuildOptions) internal(batch int) build.Options {
	b := build.Options{Options: o.workOptions(batch, defaultShare)}
	if report := o.Progress; report != nil {
		b.Progress = func(p build.Progress) { report(newBuildProgress(p)) }
	}
	return b
}

// workOptions returns the options of package worklist. share is the default of Share.
func (o BuildOptions) workOptions(batch int, share float64) worklist.Options {
	return worklist.Options{
		Workers: orDefault(o.Workers, 1), Share: cmp.Or(o.Share, share), BytesPerSecond: o.BytesPerSecond, BatchRecords: batch,
		RangeBytes: orDefault(o.RangeBytes, 1<<20), Lease: cmp.Or(o.Lease, defaultLease), Now: time.Now,
	}
}

// BuildProgress is how far the build of a store's indexes has come, in all processes
// together. Records and bytes of records that were created since the build began
// count as well.
type BuildProgress struct {
	// Indexes are the key names of the indexes that are built. If there are none, no
	// build has begun, or its last records are done.
	Indexes []string
	// Ranges is the number of ranges into which the records are divided, RangesDone of
	// those that are done.
	Ranges, RangesDone int
	// Records is the number of records that are done.
	Records int64
	// Bytes is the number of bytes that were read and written for them.
	Bytes int64
	// EstimatedBytes is the size of all records when the build began, by the engine's
	// estimate; EstimatedDone is the part of it that is done.
	EstimatedBytes, EstimatedDone int64
	// Workers is the number of workers, in all processes, that have claimed a range.
	Workers int
	// Remaining is how long so many workers still need, if they go on as they did until
	// now; 0 if that is not known yet.
	Remaining time.Duration
}

func newBuildProgress(p build.Progress) BuildProgress {
	b := BuildProgress{
		Ranges: p.Ranges, RangesDone: p.RangesDone, Records: p.Records, Bytes: p.Bytes,
		EstimatedBytes: p.Estimate, EstimatedDone: p.Done, Workers: p.Workers, Remaining: p.Remaining,
	}
	for _, m := range p.Members {
		b.Indexes = append(b.Indexes, m.KeyName)
	}
	return b
}

// String returns the progress as one line.
func (p BuildProgress) String() string {
	if len(p.Indexes) == 0 {
		return "no index is being built"
	}
	percent := 100 * float64(p.EstimatedDone) / float64(max(p.EstimatedBytes, 1))
	return fmt.Sprintf("%s: %.0f %%, %d records, %d of %d ranges, %d workers, about %v left",
		strings.Join(p.Indexes, ", "), percent, p.Records, p.RangesDone, p.Ranges, p.Workers, p.Remaining.Round(time.Second))
}

// changeState sets the state of the indexes for which which returns true.
func (x Indexes) changeState(ctx context.Context, t *transaction, to index.State, which func(int, index.State) bool) error {
	o, err := t.openStoreToWrite(ctx, x.place)
	if err != nil || o == nil {
		return err
	}
	next := o.catalog.Clone()
	for i := range o.indexes {
		if ix := &o.indexes[i]; which(i, ix.State) {
			next.SetState(ix.Definition, to)
		}
	}
	if next.Equal(o.catalog) {
		return nil
	}
	return t.changeCatalog(ctx, x.place, o, next)
}

// build completes the list of a build that is there, then builds what is disabled,
// and then makes the unique indexes without violations readable.
func (x Indexes) build(ctx context.Context, o BuildOptions) error {
	for found := true; found; {
		var err error
		if found, err = build.NewRun(buildStore{&x.source}, o.internal(x.place.db.options.BuildBatch)).Build(ctx); err != nil {
			return err
		}
	}
	return x.makeReadable(ctx)
}

// unreadable returns the names in keys of the indexes that are not readable; of a store that does not
// exist an [ErrNotFound].
func (x Indexes) unreadable(ctx context.Context) (names []string, err error) {
	err = x.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, x.place)
		if err != nil {
			return err
		}
		if o == nil {
			return ErrNotFound
		}
		names = nil
		for _, ix := range o.indexes {
			if ix.State != index.Readable {
				names = append(names, ix.KeyName())
			}
		}
		return nil
	})
	return names, err
}

// buildStore is a store as package build sees it.
type buildStore struct{ *source }

// Transact implements [build.Store].
func (s buildStore) Transact(ctx context.Context, fn func(build.Transaction) error) error {
	return s.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		return fn(&buildTransaction{source: s.source, t: t, store: o})
	})
}

// Read implements [build.Store].
func (s buildStore) Read(ctx context.Context, fn func(kv.ReadTransaction, build.Place) error) error {
	return s.db.readOnly(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		return fn(t.Reader, o.buildPlace(s.place))
	})
}

// buildTransaction is a transaction of a build: a [build.Transaction].
type buildTransaction struct {
	*source
	t     *transaction
	store *openStore
}

// KV implements [build.Transaction].
func (b *buildTransaction) KV() kv.Transaction { return b.t.writer }

// Place implements [build.Transaction].
func (b *buildTransaction) Place() build.Place { return b.store.buildPlace(b.place) }

// prunedOperand makes the commit the version up to which deletions were forgotten: a
// build of versions begins with none, so readers of changes must begin anew.
var prunedOperand = make([]byte, index.VersionSize+4)

// SetStates implements [build.Transaction].
func (b *buildTransaction) SetStates(ctx context.Context, to index.State, which func(*index.Index) bool) error {
	next := b.store.catalog.Clone()
	for i := range b.store.maintained {
		if ix := &b.store.maintained[i]; which(ix) {
			next.SetState(ix.Definition, to)
			if ix.Kind == index.Version && to == index.Building {
				b.t.writer.Atomic(kv.SetVersionstampedValue, b.store.prunedKey(b.place), prunedOperand)
			}
		}
	}
	if next.Equal(b.store.catalog) {
		return nil
	}
	return b.t.changeCatalog(ctx, b.place, b.store, next)
}

// CutRecord implements [build.Transaction].
func (b *buildTransaction) CutRecord(key []byte) (suffix []byte, ok bool) {
	return b.store.records.CutRecord(key)
}

// Fill implements [build.Transaction].
func (b *buildTransaction) Fill(ctx context.Context, batch build.Batch) (build.Portion, error) {
	f := fill{buildTransaction: b, batch: batch, taken: build.Portion{Next: batch.To}}
	err := f.run(ctx)
	return f.taken, err
}

// fill writes the entries of the records of a batch.
type fill struct {
	*buildTransaction
	batch build.Batch
	taken build.Portion

	indexes []index.Index // all that the store maintains; only those of the batch are not disabled
	after   []byte        // the key after the last record
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
			f.taken.Next = f.after
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

// isFull reports whether the batch ends after the last record.
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
	f.after = append(slices.Clone(g.Key[len(f.store.records.Prefix):]), 0xff) // and after its chunks
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

// noteID notes a record of the batch, if the batch builds an index of versions.
func (f *fill) noteID(id []byte) {
	if slices.ContainsFunc(f.indexes, func(ix index.Index) bool { return ix.Kind == index.Version && ix.State == index.Building }) {
		f.ids = append(f.ids, slices.Clone(id))
		f.read += versionBytes
	}
}

// versionBytes is about how many bytes of a transaction a version takes.
const versionBytes = 500

// setVersions gives a version to the records that have none: those that no program has
// written since the index is maintained. For a reader of changes they change now.
func (f *fill) setVersions(ctx context.Context) error {
	x := f.store.versions
	if x == nil || len(f.ids) == 0 {
		return nil
	}
	reads := make([]kv.Future[[]byte], len(f.ids))
	for i, id := range f.ids {
		reads[i] = f.t.writer.Get(x.versionKey(id))
	}
	for i, read := range reads {
		version, err := read.Get(ctx)
		if err != nil {
			return err
		}
		if version != nil {
			continue
		}
		if err := x.check(f.t, f.ids[i], nil); err != nil {
			return err
		}
		x.set(f.t, f.ids[i], nil, false)
	}
	return nil
}
