// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"fmt"
	"time"
)

// startPoll returns the running poll, or starts one. There is one at a time, even if the
// store does not answer. After Close it returns a poll that never ends.
func (w *Watch) startPoll() *poll {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil {
		return &poll{late: w.life.Done()}
	}
	if w.polling == nil {
		begun := time.Now()
		ctx, cancel := context.WithDeadline(w.life, begun.Add(w.options.Validity))
		w.polling = &poll{late: ctx.Done(), done: make(chan struct{})}
		w.polls.Add(1)
		go w.askStore(ctx, cancel, begun, w.polling)
	}
	return w.polling
}

// askStore asks the store, and ends the poll.
func (w *Watch) askStore(ctx context.Context, cancel context.CancelFunc, begun time.Time, p *poll) {
	defer w.polls.Done()
	defer cancel()
	revision, err := w.store.Revision(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.err = err; err == nil {
		p.known = w.rememberRevision(revision, begun)
	} else if !IsOutage(err) {
		w.known.Store(nil) // what was read before may not be in the store any more
	}
	w.polling = nil
	close(p.done)
}

// rememberRevision remembers a revision that the store had at some time after begun. Of two
// answers, it keeps that of the call that began later, which is valid for longer. If the calls
// overlap, that answer may have the lower revision. This is safe: the store had that revision
// after the call began, so an Announce of the higher one returns after this answer has expired.
// The caller holds w.mu.
func (w *Watch) rememberRevision(revision int64, begun time.Time) *answerInfo {
	end := begun.Add(w.options.Validity)
	k := &answerInfo{revision: revision, begun: begun, until: end, wall: end.UnixNano()}
	if old := w.known.Load(); w.life.Err() == nil && (old == nil || begun.After(old.begun)) {
		w.known.Store(k)
	}
	if k.isValid(time.Now()) {
		w.failure.Store(nil)
	}
	return k
}

// awaitPoll returns the answer of a poll, if it is still valid.
func (w *Watch) awaitPoll(ctx context.Context, p *poll) (int64, error) {
	select {
	case <-p.done:
	case <-p.late:
	case <-ctx.Done():
		return 0, fmt.Errorf("revision: the store has not answered: %w", ctx.Err())
	}
	revision, err := w.pollResult(p)
	if err != nil {
		w.failure.Store(&err)
	}
	return revision, err
}

// pollResult returns the result of an ended or late poll.
func (w *Watch) pollResult(p *poll) (int64, error) {
	select {
	case <-p.done:
	default:
		return 0, w.lateError()
	}
	switch {
	case w.life.Err() != nil:
		return 0, ErrClosed
	case p.err != nil:
		return 0, fmt.Errorf("revision: %w", p.err)
	case !p.known.isValid(time.Now()):
		return 0, w.lateError()
	}
	return p.known.revision, nil
}

func (w *Watch) lateError() error {
	if w.life.Err() != nil {
		return ErrClosed
	}
	return fmt.Errorf("%w within %v", ErrLate, w.options.Validity)
}

// poll is a read of the store's revision, running or ended. Goroutines that need the answer
// share it.
type poll struct {
	late <-chan struct{} // closed when the validity has passed: the answer may not be used
	done chan struct{}   // closed when the store has answered
	// Set before done is closed:
	known *answerInfo
	err   error
}

// answerInfo is the answer of a poll.
type answerInfo struct {
	revision int64
	begun    time.Time // when the poll began
	until    time.Time // begun + validity, by the monotonic clock
	wall     int64     // the same by the wall clock, in Unix nanoseconds
}

// isValid reports whether the answer is valid by the monotonic clock and by the wall clock:
// the monotonic clock stands still while a machine is suspended.
func (k *answerInfo) isValid(now time.Time) bool {
	return k != nil && now.Before(k.until) && now.UnixNano() < k.wall
}

// isKept reports whether the answer may be used in an outage of the store.
func (k *answerInfo) isKept(now time.Time, outage time.Duration) bool {
	return k != nil && now.Before(k.until.Add(outage)) && now.UnixNano() < k.wall+int64(outage)
}
