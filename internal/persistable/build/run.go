// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
)

// Run is the part that one process takes in a build. It is for one call of Build.
type Run struct {
	store   Store
	options Options

	mu      sync.Mutex
	members []Member // as last seen
}

// NewRun returns a run that has not begun.
func NewRun(store Store, o Options) *Run { return &Run{store: store, options: o} }

// Build completes the list that is there, or writes one for all disabled indexes and
// completes that. It reports whether there was one or the other. Indexes that may
// have violations are still in the state building afterwards.
func (r *Run) Build(ctx context.Context) (found bool, err error) {
	if found, err = r.start(ctx); err != nil || !found {
		return false, err
	}
	worklist.Reach(ctx, Started)
	if err := worklist.NewRun(job{r}, r.workOptions()).Work(ctx); err != nil {
		return true, explain(err)
	}
	worklist.Reach(ctx, Emptied)
	if err := r.finish(ctx); err != nil {
		return true, explain(err)
	}
	worklist.Reach(ctx, Finished)
	return true, nil
}

// workOptions returns the options of the work, which tell the indexes with the progress.
func (r *Run) workOptions() worklist.Options {
	o := r.options.Options
	if report := r.options.Progress; report != nil {
		o.Progress = func(ranges []worklist.Range) {
			r.mu.Lock()
			members := r.members
			r.mu.Unlock()
			report(Progress{members, worklist.NewProgress(ranges)})
		}
	}
	return o
}

// start makes sure that there is a list, if there is anything to build.
func (r *Run) start(ctx context.Context) (found bool, err error) {
	err = r.store.Transact(ctx, func(t Transaction) error {
		found = false
		at, tx := t.Place(), t.KV()
		members, err := at.List.readMembers(ctx, tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(members, at.isBuilding) {
			found = true
			return at.checkMembers(members)
		}
		at.List.clear(tx) // of indexes that were disabled or dropped since
		found, err = r.begin(ctx, t, at)
		return err
	})
	return found, err
}

// begin brings the disabled indexes to the state building and writes their list. It
// reports whether there are any.
func (r *Run) begin(ctx context.Context, t Transaction, at Place) (found bool, err error) {
	var members []Member
	begins := func(ix *index.Index) bool {
		return ix.State == index.Disabled && (r.options.Begins == nil || r.options.Begins(ix.Definition))
	}
	for i := range at.Indexes {
		if ix := &at.Indexes[i]; begins(ix) {
			ix.Clear(t.KV())
			members = append(members, MemberOf(ix.Definition))
		}
	}
	if len(members) == 0 {
		return false, nil
	}
	if err := t.SetStates(ctx, index.Building, begins); err != nil {
		return false, err
	}
	ranges, err := splitRecords(ctx, t, at.Records, int64(r.options.RangeBytes))
	if err != nil {
		return false, err
	}
	for i := range ranges {
		at.List.ranges().Write(t.KV(), &ranges[i])
	}
	err = at.List.writeMembers(t.KV(), members)
	worklist.Reach(ctx, Listed)
	return true, err
}

// splitRecords divides all keys of records into ranges of about the same size, by the
// engine's estimates.
func splitRecords(ctx context.Context, t Transaction, prefix []byte, least int64) ([]worklist.Range, error) {
	all := kv.KeyRange{Begin: prefix, End: append(bytes.Clone(prefix), lastEnd...)}
	begins, size, err := worklist.Split(ctx, t.KV(), all, least, worklist.MaxRanges, nil, func(point []byte) ([]byte, bool) {
		if !bytes.HasPrefix(point, prefix) {
			return nil, false
		}
		return t.CutRecord(point)
	})
	return worklist.NewRanges(begins, lastEnd, size), err
}

// job is the build as [worklist.Job].
type job struct{ *Run }

// Transact implements [worklist.Job].
func (j job) Transact(ctx context.Context, fn func(worklist.Transaction) error) error {
	return j.store.Transact(ctx, func(t Transaction) error { return fn(&batchTransaction{Transaction: t, at: t.Place()}) })
}

// Read implements [worklist.Job].
func (j job) Read(ctx context.Context, fn func(kv.ReadTransaction, worklist.List) error) error {
	return j.store.Read(ctx, func(tx kv.ReadTransaction, at Place) error {
		members, err := at.List.readMembers(ctx, tx)
		if err != nil {
			return err
		}
		j.mu.Lock()
		j.members = members
		j.mu.Unlock()
		return fn(tx, at.List.ranges())
	})
}

// batchTransaction is a transaction of a build as [worklist.Transaction].
type batchTransaction struct {
	Transaction
	at      Place
	indexes []bool // which of at.Indexes are built
}

// Open implements [worklist.Transaction].
func (t *batchTransaction) Open(ctx context.Context) (l worklist.List, open bool, err error) {
	l = t.at.List.ranges()
	members, err := t.at.List.readMembers(ctx, t.KV())
	if err != nil || members == nil {
		return l, false, err
	}
	if err := t.at.checkMembers(members); err != nil {
		return l, false, err
	}
	t.indexes = make([]bool, len(t.at.Indexes))
	for i := range t.at.Indexes {
		ix := &t.at.Indexes[i]
		t.indexes[i] = ix.State == index.Building && slices.Contains(members, MemberOf(ix.Definition))
	}
	return l, true, nil
}

// Work implements [worklist.Transaction].
func (t *batchTransaction) Work(ctx context.Context, r *worklist.Range, b worklist.Batch) (worklist.Portion, error) {
	taken, err := t.Fill(ctx, Batch{From: r.Next, To: r.End, Records: b.Records, Bytes: b.Bytes, Indexes: t.indexes})
	if err == nil {
		err = t.protect(r.Next, taken.Next)
	}
	return taken, err
}

// protect makes the transaction conflict with all writes of records that it covers, and
// with exactly those (rules 3 and 4 of the package). The records were read as a
// snapshot, which has read further than the batch goes.
func (t *batchTransaction) protect(from, to []byte) error {
	covered := kv.KeyRange{Begin: slices.Concat(t.at.Records, from), End: slices.Concat(t.at.Records, to)}
	if err := t.KV().AddReadConflictRange(covered); err != nil {
		return err
	}
	for i := range t.at.Indexes {
		if t.indexes[i] && !t.at.Indexes[i].Kind.Idempotent() {
			return t.KV().AddWriteConflictRange(covered)
		}
	}
	return nil
}

// finish removes the list, of which nothing is left, and makes its indexes readable
// but for unique ones, which must be searched for violations first. That is one transaction: a write
// maintains a record that is done as long as there is a list, and every record
// afterwards. If the list is another one by then, it stays.
func (r *Run) finish(ctx context.Context) error {
	return r.store.Transact(ctx, func(t Transaction) error {
		at, tx := t.Place(), t.KV()
		members, err := at.List.readMembers(ctx, tx)
		if err != nil || members == nil {
			return err // another process has finished it
		}
		ranges, err := at.List.ranges().ReadAll(ctx, tx)
		if err != nil {
			return err
		}
		if !worklist.AllDone(ranges) {
			return nil // another process has replaced it: the next run completes that one
		}
		at.List.clear(tx)
		return t.SetStates(ctx, index.Readable, func(ix *index.Index) bool {
			return ix.State == index.Building && !ix.Unique && slices.Contains(members, MemberOf(ix.Definition))
		})
	})
}
