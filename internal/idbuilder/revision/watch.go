// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

var (
	// ErrLate says that the store has not answered within the validity. It may be
	// overloaded or unreachable.
	ErrLate = errors.New("revision: the store has not answered")
	// ErrClosed says that the Watch was closed.
	ErrClosed = errors.New("revision: closed")
	// ErrUnconfirmed says that a change is stored, and that some processes may not have seen it yet.
	ErrUnconfirmed = errors.New("revision: the change is stored; other workers may not have seen it yet")
)

// Watch knows the revision of a store. It is safe for concurrent use.
type Watch struct {
	store   store.Store
	options Options
	known   atomic.Pointer[answerInfo]
	failure atomic.Pointer[error] // of the last poll; nil: it was answered in time

	mu      sync.Mutex
	polling *poll // the running poll, or nil

	life  context.Context // ends with Close
	stop  context.CancelFunc
	polls sync.WaitGroup // goroutines that poll
}

// New returns a Watch, which polls in the background until Close.
func New(s store.Store, o Options) (*Watch, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &Watch{store: s, options: o.withDefaults()}
	w.life, w.stop = context.WithCancel(context.Background())
	w.polls.Add(1)
	go w.run()
	return w, nil
}

// run polls three times in each period of validity.
func (w *Watch) run() {
	defer w.polls.Done()
	tick := time.NewTicker(w.options.Validity / 3)
	defer tick.Stop()
	for w.life.Err() == nil {
		_, _ = w.awaitPoll(w.life, w.startPoll()) // Current polls again, and reports the error
		select {
		case <-w.life.Done():
		case <-tick.C:
		}
	}
}

// Current returns the revision. It waits for the store only if no poll was answered
// within the validity; it then returns the error of the store, [ErrLate] or that of
// ctx. After Close it returns [ErrClosed].
func (w *Watch) Current(ctx context.Context) (int64, error) {
	if k := w.known.Load(); k.isValid(time.Now()) {
		return k.revision, nil
	}
	return w.awaitPoll(ctx, w.startPoll())
}

// Last is Current while the store answers. While it does not, Last returns the last revision,
// with the reason, for [Options.Outage]. What was read under that revision may have changed
// since. After the store has said that it lost data, there is no last revision.
func (w *Watch) Last(ctx context.Context) (State, error) {
	k, now := w.known.Load(), time.Now()
	if k.isValid(now) {
		return State{Revision: k.revision}, nil
	}
	if cause := w.failure.Load(); cause != nil && k.isKept(now, w.options.Outage) {
		return State{k.revision, *cause}, nil // without a wait for the next poll
	}
	revision, err := w.awaitPoll(ctx, w.startPoll())
	if err == nil || ctx.Err() != nil {
		return State{Revision: revision}, err
	}
	if k = w.known.Load(); IsOutage(err) && k.isKept(time.Now(), w.options.Outage) {
		return State{k.revision, err}, nil
	}
	return State{}, err
}

// State is a revision, and whether it is current.
type State struct {
	Revision int64
	Outage   error // why the store cannot be asked; nil: the revision is current
}

// IsOutage reports whether an error may mean that the store cannot be asked now. One that
// says what the store holds, or that a newer version has migrated it, or that it has lost data,
// does not.
func IsOutage(err error) bool {
	var damage *store.CorruptError
	return err != nil && !errors.As(err, &damage) && !errors.Is(err, store.ErrNewer) && !errors.Is(err, store.ErrLost) && !errors.Is(err, store.ErrNotFound) &&
		!errors.Is(err, store.ErrClosed) && !errors.Is(err, ErrClosed)
}

// Outage returns for how long the last answer of the store has been out of date: 0 while the
// store answers, and before its first answer.
func (w *Watch) Outage() time.Duration {
	k, now := w.known.Load(), time.Now()
	if k == nil || k.isValid(now) {
		return 0
	}
	return max(now.Sub(k.until), time.Duration(now.UnixNano()-k.wall))
}

// Options returns the options, with the default values.
func (w *Watch) Options() Options { return w.options }

// Announce announces a change that the caller has stored. When it returns nil, no process
// uses what it read before the change, but those that cannot ask the store and call
// [Watch.Last]. That takes a Validity and a Margin. An error wraps [ErrUnconfirmed]: some
// processes may still use the old state; repeat the call.
func (w *Watch) Announce(ctx context.Context) error {
	if w.life.Err() != nil {
		return ErrClosed
	}
	begun := time.Now()
	revision, err := w.store.Advance(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	}
	expired := time.NewTimer(w.options.Validity + w.options.Margin) // what other processes know
	defer expired.Stop()
	w.mu.Lock()
	w.rememberRevision(revision, begun)
	w.mu.Unlock()
	select {
	case <-expired.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnconfirmed, ctx.Err())
	}
}

// Close ends the polling, and waits for a running poll. After it only Announce calls
// the store; close the store after the Watch.
func (w *Watch) Close() {
	w.mu.Lock() // no poll starts any more, and no answer is remembered
	w.stop()
	w.known.Store(nil)
	w.mu.Unlock()
	w.polls.Wait()
}

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

// Options configure a Watch. All processes of a store use the same options: a
// process with a longer Validity may use what it read for longer than the
// Announce of another process waits.
type Options struct {
	// Validity is how long a revision may be used after a poll, and how long Announce
	// takes. An answer of the store that takes longer counts as none.
	// The default value is a second; allowed are 10 ms to a minute.
	Validity time.Duration
	// Margin is added to the wait of Announce, for clocks that run at different rates.
	// The default value is a hundredth of Validity; allowed are 0 to a minute.
	Margin time.Duration
	// Outage is for how long [Watch.Last] goes on with the last revision while the store does
	// not answer, counted from the end of its validity. The default value is 5 minutes; allowed
	// are up to a day; negative: not at all.
	Outage time.Duration
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	if o.Validity != 0 && (o.Validity < 10*time.Millisecond || o.Validity > time.Minute) {
		faults = append(faults, fmt.Errorf("idbuilder: Validity is %v, allowed are 10ms to 1m", o.Validity))
	}
	if o.Margin < 0 || o.Margin > time.Minute {
		faults = append(faults, fmt.Errorf("idbuilder: Margin is %v, allowed are 0 to 1m", o.Margin))
	}
	if o.Outage > 24*time.Hour {
		faults = append(faults, fmt.Errorf("idbuilder: Outage is %v, allowed are up to 24h", o.Outage))
	}
	return errors.Join(faults...)
}

// AnnounceTime returns how long an Announce waits after the store has answered.
func (o Options) AnnounceTime() time.Duration {
	o = o.withDefaults()
	return o.Validity + o.Margin
}

func (o Options) withDefaults() Options {
	if o.Validity == 0 {
		o.Validity = time.Second
	}
	if o.Margin == 0 {
		o.Margin = o.Validity / 100
	}
	if o.Outage == 0 {
		o.Outage = 5 * time.Minute
	}
	return o
}
