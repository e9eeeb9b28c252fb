// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

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
