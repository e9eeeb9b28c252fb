// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
)

// Run is the part that one process takes in a build. It is for one call of Build.
type Run struct {
	store   Store
	options Options
	id      []byte // what the ids of its workers begin with
	pace    pace

	mu      sync.Mutex
	members []Member
	ranges  []Range                // as last seen
	seen    map[string]observation // of claimed ranges, by their begin
}

// observation is when a process saw a claim change.
type observation struct {
	claim Range
	at    time.Time
}

// NewRun returns a run that has not begun.
func NewRun(store Store, o Options) *Run {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return &Run{store: store, options: o, id: id, pace: pace{perSecond: o.BytesPerSecond, now: o.Now}, seen: map[string]observation{}}
}

// Build completes the list that is there, or writes one for all disabled indexes and
// completes that. It reports whether there was one or the other. Indexes that may
// have violations are still in the state building afterwards.
func (r *Run) Build(ctx context.Context) (found bool, err error) {
	if found, err = r.start(ctx); err != nil || !found {
		return false, err
	}
	Reach(ctx, Started)
	if err := r.runWorkers(ctx); err != nil {
		return true, err
	}
	Reach(ctx, Emptied)
	if err := r.finish(ctx); err != nil {
		return true, err
	}
	Reach(ctx, Finished)
	return true, nil
}

// maxRanges is about how many ranges a list has at most: enough that many workers have
// work, and few enough that each of them can read the list.
const maxRanges = 512

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
		at.List.writeRange(t.KV(), &ranges[i])
	}
	err = at.List.writeMembers(t.KV(), members)
	Reach(ctx, Listed)
	return true, err
}

// splitRecords divides all keys of records into ranges of about the same size, by the
// engine's estimates.
func splitRecords(ctx context.Context, t Transaction, prefix []byte, least int64) ([]Range, error) {
	all := kv.KeyRange{Begin: prefix, End: append(bytes.Clone(prefix), lastEnd...)}
	size, err := t.KV().GetEstimatedRangeSizeBytes(all).Get(ctx)
	if err != nil {
		return nil, err
	}
	chunk := max(least, size/maxRanges)
	points, err := t.KV().GetRangeSplitPoints(all, chunk).Get(ctx)
	if err != nil {
		return nil, err
	}
	begins := [][]byte{nil}
	for _, point := range points {
		if !bytes.HasPrefix(point, prefix) {
			continue
		}
		begin, ok := t.CutRecord(point)
		if ok && len(begin) <= maxBegin && bytes.Compare(begin, begins[len(begins)-1]) > 0 {
			begins = append(begins, begin)
		}
	}
	return newRanges(begins, size), nil
}

// newRanges returns the ranges that begin at the keys and share the size.
func newRanges(begins [][]byte, size int64) []Range {
	ranges := make([]Range, len(begins))
	for i, begin := range begins {
		end := lastEnd
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		ranges[i] = Range{Begin: begin, End: end, Next: begin, Estimate: max(size/int64(len(begins)), 1)}
	}
	return ranges
}

// runWorkers runs the workers until none has anything left. The first error ends all.
func (r *Run) runWorkers(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var first error
	var once sync.Once
	for i := range r.options.Workers {
		w := &worker{Run: r, id: append(bytes.Clone(r.id), byte(i>>8), byte(i)), effort: newEffort(r.options.BatchRecords)}
		group.Go(func() {
			if err := w.work(ctx); err != nil {
				once.Do(func() { first = err; cancel(err) })
			}
		})
	}
	group.Wait()
	return first
}

// look reads the list again. Without one it returns no ranges.
func (r *Run) look(ctx context.Context) (ranges []Range, err error) {
	var members []Member
	err = r.store.Read(ctx, func(tx kv.ReadTransaction, at Place) error {
		if members, err = at.List.readMembers(ctx, tx); err != nil || members == nil {
			ranges = nil
			return err
		}
		ranges, err = at.List.readRanges(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members, r.ranges = members, append([]Range(nil), ranges...)
	return ranges, nil
}

// noteChange notes what a worker has made of a range, and reports the progress.
func (r *Run) noteChange(changed *Range) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.ranges {
		if bytes.Equal(r.ranges[i].Begin, changed.Begin) {
			r.ranges[i] = *changed
		}
	}
	if r.options.Progress != nil {
		r.options.Progress(newProgress(r.members, r.ranges))
	}
}

// isOwn reports whether a worker of this run has claimed a range.
func (r *Run) isOwn(claim *Range) bool { return bytes.HasPrefix(claim.Worker, r.id) }

// choice is what a worker does next.
type choice struct {
	rng     *Range        // to fill; nil: none may be claimed now
	expired bool          // rng is claimed by a worker that has not changed it for a lease
	wait    time.Duration // until another look; 0 if rng is nil: nothing is left for this worker
}

// choose reads the list and picks a range at random: a free one, or else one whose
// claim has expired.
//
// No clocks are compared: a claim expires when this process has seen it unchanged for
// a whole lease on its own clock. It need not be right. A worker that was only slow
// finds its range claimed by another, and no record is counted twice (see the rules
// of the package).
func (r *Run) choose(ctx context.Context, worker []byte) (choice, error) {
	ranges, err := r.look(ctx)
	if err != nil {
		return choice{}, err
	}
	for _, i := range mathrand.Perm(len(ranges)) {
		if c := &ranges[i]; !c.IsDone() && c.mayBeClaimed(worker, nil) {
			return choice{rng: c}, nil
		}
	}
	return r.findExpired(ranges), nil
}

// findExpired notes which claims have changed and returns one that has not for a
// lease, or how long to wait for the first to expire. It does not wait for claims of
// this run alone: their workers are alive, or the run ends with their error.
func (r *Run) findExpired(ranges []Range) (c choice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.options.Now()
	for i := range ranges {
		claim := &ranges[i]
		if claim.IsDone() || r.isOwn(claim) {
			continue
		}
		last, known := r.seen[string(claim.Begin)]
		if !known || last.claim.Beats != claim.Beats || !bytes.Equal(last.claim.Worker, claim.Worker) {
			last = observation{*claim, now}
			r.seen[string(claim.Begin)] = last
		}
		left := r.options.Lease - now.Sub(last.at)
		if left <= 0 {
			return choice{rng: claim, expired: true}
		}
		if left = min(left, r.options.Lease/4); c.wait == 0 || left < c.wait {
			c.wait = left
		}
	}
	return c
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
		ranges, err := at.List.readRanges(ctx, tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(ranges, func(r Range) bool { return !r.IsDone() }) {
			return nil // another process has replaced it: the next run completes that one
		}
		at.List.clear(tx)
		return t.SetStates(ctx, index.Readable, func(ix *index.Index) bool {
			return ix.State == index.Building && !ix.Unique && slices.Contains(members, MemberOf(ix.Definition))
		})
	})
}
