// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"crypto/rand"
	"sync"
	"time"

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
