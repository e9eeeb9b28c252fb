// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"bytes"
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Run is the part that one process takes in a job. It is for one call of Work.
type Run struct {
	job     Job
	options Options
	id      []byte // what the ids of its workers begin with
	pace    pace

	mu     sync.Mutex
	ranges []Range                // as last seen
	seen   map[string]observation // of claimed ranges, by their begin
}

// observation is when a process saw a claim change.
type observation struct {
	claim Range
	at    time.Time
}

// NewRun returns a run that has not begun.
func NewRun(job Job, o Options) *Run {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return &Run{job: job, options: o, id: id, pace: pace{perSecond: o.BytesPerSecond, now: o.Now}, seen: map[string]observation{}}
}

// Work runs the workers until none has anything left, and no other process has. The first
// error ends all.
func (r *Run) Work(ctx context.Context) error {
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
	err = r.job.Read(ctx, func(tx kv.ReadTransaction, l List) (err error) {
		ranges, err = l.ReadAll(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = append([]Range(nil), ranges...)
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
		r.options.Progress(r.ranges)
	}
}

// isOwn reports whether a worker of this run has claimed a range.
func (r *Run) isOwn(claim *Range) bool { return bytes.HasPrefix(claim.Worker, r.id) }

// choice is what a worker does next.
type choice struct {
	rng     *Range        // to work on; nil: none may be claimed now
	expired bool          // rng is claimed by a worker that has not changed it for a lease
	wait    time.Duration // until another look; 0 if rng is nil: nothing is left for this worker
}

// choose reads the list and picks a range at random: a free one, or else one whose
// claim has expired.
//
// No clocks are compared: a claim expires when this process has seen it unchanged for
// a whole lease on its own clock. It need not be right. A worker that was only slow
// finds its range claimed by another, and no key is worked on twice (see the package).
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
