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
)

// Watch knows the revision of a store. It is safe for concurrent use.
type Watch struct {
	store   store.Store
	options Options
	known   atomic.Pointer[answerInfo]

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

// Announce announces a change that the caller has stored. When it returns nil, no process
// uses what it read before the change. That takes a Validity and a Margin. After an error
// some processes may still use the old state: repeat the call.
func (w *Watch) Announce(ctx context.Context) error {
	if w.life.Err() != nil {
		return ErrClosed
	}
	begun := time.Now()
	revision, err := w.store.Advance(ctx)
	if err != nil {
		return fmt.Errorf("revision: the change is stored, but not announced: %w", err)
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
		return fmt.Errorf("revision: the change is announced, other workers may not have seen it yet: %w", ctx.Err())
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
