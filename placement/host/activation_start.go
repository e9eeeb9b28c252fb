// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/placement"
)

// callFactory calls the factory.
func (a *Activation) callFactory(ctx context.Context) (err error) {
	made := false
	defer func() {
		if !made {
			a.noteFailedStart()
		}
	}()
	var state any
	err = a.catchPanic("the factory", func() (err error) {
		ctx, end := a.contextFor(ctx, []placement.Key{a.Key()})
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

// noteStarted begins to run the mailbox. If the factory took too long, the mailbox already
// has the end message.
func (a *Activation) noteStarted(state any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
	a.used = a.kind.session.sinceStart()
	a.resumeMailbox()
	if a.phase != starting {
		return errGone
	}
	a.phase = active
	return nil
}

// resumeMailbox runs messages that arrived while the factory ran. The caller holds the mutex.
func (a *Activation) resumeMailbox() {
	if a.running = a.ensureExtension().head != nil; a.running {
		go a.runMailbox()
		return
	}
	a.freeExtension()
}

// noteFailedStart ends an activation that has no value.
func (a *Activation) noteFailedStart() {
	a.mu.Lock()
	a.resumeMailbox()
	a.mu.Unlock()
	a.finishEnd(placement.CauseFailed)
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
		if sleep.For(ctx, pause) != nil {
			return ctx.Err()
		}
	}
}

func (a *Activation) currentPhase() phase {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase
}
