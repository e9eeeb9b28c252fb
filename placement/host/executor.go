// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// EnsureActivation implements driver.Executor: it calls the factory of the kind.
func (s *session) EnsureActivation(ctx context.Context, c placement.EnsureActivation) (placement.ActivationRecord, error) {
	record := placement.ActivationRecord{PID: s.pid}
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return record, fmt.Errorf("host: kind %q is not registered here", clip(c.Key.Kind))
	}
	a, older, made := as.add(c.Key.ID, c.Epoch)
	if older != nil {
		go older.end(context.WithoutCancel(ctx), placement.CauseLost, time.Time{})
	}
	if made {
		return record, a.start(ctx)
	}
	if a.epoch != c.Epoch {
		return record, fmt.Errorf("%w: epoch %d was activated after epoch %d", placement.ErrStale, a.epoch, c.Epoch)
	}
	return record, a.awaitStart(ctx)
}

// Deactivate implements driver.Executor.
func (s *session) Deactivate(ctx context.Context, c placement.Deactivate) error {
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return nil
	}
	a := as.find(c.Key.ID, c.Epoch)
	if a == nil {
		return nil
	}
	return a.end(ctx, c.Cause, c.IdleSince)
}

// start calls the factory.
func (a *Activation) start(ctx context.Context) (err error) {
	made := false
	defer func() {
		if !made {
			a.noteFailedStart()
		}
	}()
	var state any
	err = a.guard("the factory", func() (err error) {
		ctx, end := a.within(ctx, []placement.Key{a.Key()})
		defer end()
		state, err = a.kind.kind.open(ctx, a)
		return err
	})
	if err != nil {
		return err
	}
	made = true
	return a.noteStarted(state)
}

// noteStarted begins to run what is in the mailbox. The mailbox has an end already
// if the factory took too long.
func (a *Activation) noteStarted(state any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
	a.used = a.kind.session.sinceStart()
	a.resume()
	if a.phase != starting {
		return errGone
	}
	a.phase = active
	return nil
}

// resume runs what came while the factory ran. The caller holds the mutex.
func (a *Activation) resume() {
	if a.running = a.extend().head != nil; a.running {
		go a.run()
		return
	}
	a.shrink()
}

// noteFailedStart ends an activation that has no value.
func (a *Activation) noteFailedStart() {
	a.mu.Lock()
	a.resume()
	a.mu.Unlock()
	a.finish(placement.CauseFailed)
}

// awaitStart waits for the factory, which another command has called.
func (a *Activation) awaitStart(ctx context.Context) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		switch a.currentPhase() {
		case active:
			return nil
		case draining, gone:
			return errGone
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (a *Activation) currentPhase() phase {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase
}
