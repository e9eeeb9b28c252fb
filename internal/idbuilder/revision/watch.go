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
	w.mu.Lock() // from now on no poll starts, and no answer is remembered
	w.stop()
	w.known.Store(nil)
	w.mu.Unlock()
	w.polls.Wait()
}
