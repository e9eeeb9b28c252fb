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

// Options configure a Watch. All processes of a store use the same Validity.
type Options struct {
	// Validity is for how long a revision is vouched for, and how long Announce
	// takes. The default value is a second; allowed are 10 ms to a minute.
	Validity time.Duration
	// Margin is added to the wait of Announce, for clocks that run at different rates.
	// The default value is a hundredth of Validity.
	Margin time.Duration
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	if o.Validity != 0 && (o.Validity < 10*time.Millisecond || o.Validity > time.Minute) {
		faults = append(faults, fmt.Errorf("revision: Validity is %v, allowed are 10ms to 1m", o.Validity))
	}
	if o.Margin < 0 {
		faults = append(faults, fmt.Errorf("revision: Margin is %v, it cannot be negative", o.Margin))
	}
	return errors.Join(faults...)
}

// Watch knows the revision of a store. It is safe for concurrent use.
type Watch struct {
	store            store.Store
	validity, margin time.Duration
	known            atomic.Pointer[known]
	polls            sync.Mutex // held by the goroutine that polls
	stop             context.CancelFunc
	stopped          chan struct{}
}

// known is the answer of a poll.
type known struct {
	revision int64
	until    time.Time
}

// New returns a Watch, which polls from a goroutine of its own until Close.
func New(s store.Store, o Options) (*Watch, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &Watch{store: s, validity: o.Validity, margin: o.Margin, stopped: make(chan struct{})}
	if w.validity == 0 {
		w.validity = time.Second
	}
	if w.margin == 0 {
		w.margin = w.validity / 100
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go w.run(ctx)
	return w, nil
}

// run polls three times in each period of validity.
func (w *Watch) run(ctx context.Context) {
	defer close(w.stopped)
	tick := time.NewTicker(w.validity / 3)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, w.validity)
		_, _ = w.poll(attempt) // Current asks again, and reports the error
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll asks the store.
func (w *Watch) poll(ctx context.Context) (int64, error) {
	w.polls.Lock()
	defer w.polls.Unlock()
	begun := time.Now()
	revision, err := w.store.Revision(ctx)
	if err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	w.known.Store(&known{revision, begun.Add(w.validity)})
	return revision, nil
}

// Current returns the revision. It asks the store only if no poll was answered
// within the validity; the error is then the store's.
func (w *Watch) Current(ctx context.Context) (int64, error) {
	if k := w.known.Load(); k != nil && time.Now().Before(k.until) {
		return k.revision, nil
	}
	return w.poll(ctx)
}

// Announce makes a change known that the caller has stored: when it returns nil, no
// process uses what it read before the change. After an error, and if ctx ends,
// the change may not be in force everywhere yet.
func (w *Watch) Announce(ctx context.Context) error {
	if _, err := w.store.Advance(ctx); err != nil {
		return fmt.Errorf("revision: the change is stored, but not announced: %w", err)
	}
	if _, err := w.poll(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(w.validity + w.margin):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("revision: the change is announced, other workers may not have seen it yet: %w", ctx.Err())
	}
}

// Close ends the polling.
func (w *Watch) Close() {
	w.stop()
	<-w.stopped
}
