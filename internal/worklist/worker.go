// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
)

// worker works on ranges, one after the other. It is for one goroutine.
type worker struct {
	*Run
	id     []byte
	effort effort
	begun  time.Time // when it began its last batch
}

// work works on ranges until none are left for it.
func (w *worker) work(ctx context.Context) error {
	for {
		c, err := w.choose(ctx, w.id)
		switch {
		case err != nil:
			return err
		case c.rng != nil:
			Reach(ctx, Picked)
			err = w.workOn(ctx, c)
		case c.wait == 0:
			return nil
		default:
			err = sleep.For(ctx, c.wait)
		}
		if err != nil {
			return err
		}
	}
}

// workOn claims a range with its first batch, and works on it until nothing is left
// or another worker has claimed it.
func (w *worker) workOn(ctx context.Context, c choice) error {
	expired := c.rng
	if !c.expired {
		expired = nil
	}
	w.begun = w.options.Now()
	for {
		r, err := w.takeBatch(ctx, c.rng.Begin, expired)
		if err != nil {
			w.release(ctx, c.rng.Begin)
			return err
		}
		if r == nil {
			return nil // another worker's, or no more
		}
		expired = nil
		Reach(ctx, Moved)
		w.noteChange(r)
		if r.IsDone() {
			return nil
		}
		if err := w.rest(ctx, r); err != nil {
			w.release(ctx, r.Begin)
			return err
		}
	}
}

// rest waits as long as the limits demand, and renews the claim while it waits.
func (w *worker) rest(ctx context.Context, r *Range) error {
	for wait := max(w.pace.take(w.effort.taken), w.effort.rest(w.options.Share)); wait > 0; {
		step := min(wait, max(w.options.Lease/4, time.Millisecond))
		if err := sleep.For(ctx, step); err != nil {
			return err
		}
		if wait -= step; wait > 0 {
			if err := w.renew(ctx, r.Begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeBatch works on the next keys of a range, in one transaction with the progress
// of the range. It returns the range as it is then; nil if another worker has claimed
// it, or the job is gone. If the transaction is too large, or takes too long, it tries
// again with half as much.
func (w *worker) takeBatch(ctx context.Context, begin []byte, expired *Range) (*Range, error) {
	for {
		r, taken, err := w.tryBatch(ctx, begin, expired)
		if !isTooMuch(err) || taken.Records < 2 {
			return r, err
		}
		w.effort.shrink(taken)
	}
}

// isTooMuch reports whether less in a transaction may help after the error.
func isTooMuch(err error) bool {
	var slow *kv.RetryError
	return kv.CodeOf(err) == kv.CodeTransactionTooLarge || errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld
}

// tryBatch is takeBatch with the effort that the attempts before have left.
func (w *worker) tryBatch(ctx context.Context, begin []byte, expired *Range) (r *Range, taken Portion, err error) {
	attempts, begun := 0, w.options.Now()
	err = w.job.Transact(ctx, func(t Transaction) error {
		if attempts++; attempts > 1 {
			w.effort.shrink(taken)
		}
		r, taken, err = w.takeNext(ctx, t, begin, expired)
		return err
	})
	switch {
	case err != nil:
	case attempts == 1:
		w.effort.grow()
	case !w.options.NoPause:
		w.effort.slowDown()
	}
	w.effort.taken, w.effort.took = taken.Bytes, w.options.Now().Sub(begun)
	return r, taken, err
}

// takeNext is one attempt. All that decides what it does is read in it: after a commit
// of unknown outcome the next attempt goes on after what was committed.
func (w *worker) takeNext(ctx context.Context, t Transaction, begin []byte, expired *Range) (*Range, Portion, error) {
	l, r, err := open(ctx, t, begin)
	if err != nil || r == nil || r.IsDone() || !r.mayBeClaimed(w.id, expired) {
		return nil, Portion{}, err
	}
	taken, err := t.Work(ctx, r, Batch{w.effort.records, w.effort.bytes, func(ctx context.Context) error { return w.renew(ctx, begin) }})
	if err != nil {
		return nil, taken, err
	}
	w.advance(r, taken)
	l.Write(t.KV(), r)
	Reach(ctx, Filled)
	return r, taken, nil
}

// open reads a range of the list; nil if there is no such range any more. The transaction
// conflicts with every change of it, and with the end of the job.
func open(ctx context.Context, t Transaction, begin []byte) (l List, r *Range, err error) {
	l, ok, err := t.Open(ctx)
	if err != nil || !ok {
		return l, nil, err
	}
	r, err = l.Read(ctx, t.KV(), begin)
	return l, r, err
}

// advance notes in the range what was done.
func (w *worker) advance(r *Range, taken Portion) {
	now := w.options.Now()
	r.Next, r.Worker, r.Beats = taken.Next, w.id, r.Beats+1
	r.Records += int64(taken.Records)
	r.Bytes += int64(taken.Bytes)
	r.Busy += max(now.Sub(w.begun), 0)
	w.begun = now
	if r.IsDone() {
		r.Worker = nil
	}
}

// renew shows other workers that this one lives.
func (w *worker) renew(ctx context.Context, begin []byte) error {
	return w.changeClaim(ctx, begin, func(r *Range) { r.Beats++ })
}

// release gives a range back, so that another worker need not wait for the lease. It
// does not wait long: the claim expires as well.
func (w *worker) release(ctx context.Context, begin []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = w.changeClaim(ctx, begin, func(r *Range) { r.Worker, r.Beats = nil, r.Beats+1 })
}

// changeClaim changes a range, if it is still the worker's own.
func (w *worker) changeClaim(ctx context.Context, begin []byte, change func(*Range)) error {
	return w.job.Transact(ctx, func(t Transaction) error {
		l, r, err := open(ctx, t, begin)
		if err != nil || r == nil || r.IsDone() || string(r.Worker) != string(w.id) {
			return err
		}
		change(r)
		l.Write(t.KV(), r)
		return nil
	})
}

// The bounds of a batch in bytes, and of the pause after conflicts. The largest batch is
// far below the limit of a transaction: writers' commits wait behind a batch's, and
// conflict with it the more often the more records it covers.
const (
	firstBatch = 64 << 10
	maxBatch   = 256 << 10
	minBatch   = 1 << 10
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
	maxRests   = 10 // the longest pause after conflicts, in times of the last batch
)

// effort is how much a worker does at a time. Additive increase would find the
// largest batch that rarely fails too slowly, so it grows by a tenth, and doubles
// until its first failure, as a TCP connection starts. A failure halves it.
//
// Each failure is a conflict with writers, or a transaction that was too old or too
// large. Conflicts cost the writers as well, so after them a worker also pauses.
type effort struct {
	records int // the most of a batch
	bytes   int // of the next batch
	most    int // records, as the caller limits them
	failed  bool
	pause   time.Duration // before the next batch
	taken   int           // bytes of the last batch
	took    time.Duration // its time
}

func newEffort(records int) effort { return effort{records: records, most: records, bytes: firstBatch} }

// shrink halves the next batch, from what the failed one had taken.
func (e *effort) shrink(t Portion) {
	e.failed = true
	e.bytes = max(min(e.bytes, max(t.Bytes, minBatch))/2, minBatch)
	e.records = max(min(e.records, max(t.Records, 1))/2, 1)
}

// slowDown doubles the pause.
func (e *effort) slowDown() { e.pause = min(max(2*e.pause, firstPause), maxPause) }

// grow enlarges the next batch after one that took a single attempt.
func (e *effort) grow() {
	if e.failed {
		e.bytes, e.records = e.bytes+e.bytes/10+1, e.records+e.records/10+1
	} else {
		e.bytes, e.records = 2*e.bytes, 2*e.records
	}
	e.bytes, e.records = min(e.bytes, maxBatch), min(e.records, e.most)
	if e.pause /= 2; e.pause < firstPause {
		e.pause = 0
	}
}

// rest returns how long the worker pauses after its last batch, so that it works for a
// share of its time and no longer. When the database is slow, the pauses are longer. The
// pause after conflicts is bounded by the time of the batch, so that small batches that
// often conflict do not stop the build.
func (e *effort) rest(share float64) time.Duration {
	return max(time.Duration(float64(e.took)*(1-share)/share), min(e.pause, maxRests*e.took))
}

// pace limits the bytes that all workers of a process read and write in a second. It
// is safe for concurrent use.
type pace struct {
	perSecond int // 0: no limit
	now       func() time.Time

	mu  sync.Mutex
	due time.Time // when what was taken so far is paid for
}

// take notes n bytes and returns how long the worker that took them has to wait
// before its next batch.
func (p *pace) take(n int) time.Duration {
	if p.perSecond == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
	return p.due.Sub(now)
}
