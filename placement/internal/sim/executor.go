// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// executor makes and ends the actors of one process: a driver.Executor.
type executor struct{ process *process }

var errExecutor = errors.New("sim: the executor fails")

// EnsureActivation implements driver.Executor. The actor reads its register under its
// fence, so that the register knows of the epoch from then on.
func (e executor) EnsureActivation(_ context.Context, c placement.EnsureActivation) (placement.ActivationRecord, error) {
	p, w := e.process, e.process.world
	if w.fate.refused || e.mustWait() {
		return placement.ActivationRecord{}, errExecutor
	}
	if err := e.randomFault(); err != nil {
		return placement.ActivationRecord{}, err
	}
	if a := p.actors[c.Key]; a != nil {
		if a.epoch == c.Epoch {
			return a.activationRecord(), nil
		}
		if err := e.replaceActor(a, c.Epoch); err != nil {
			return placement.ActivationRecord{}, err
		}
	}
	a := &actor{process: p, key: c.Key, epoch: c.Epoch, used: p.machine.clock.wall()}
	if err := a.readRegister(); err != nil {
		w.tracef("%v does not become active: %v", a, err)
		return placement.ActivationRecord{}, err
	}
	p.actors[c.Key] = a
	w.tracef("%v is active, with value %d", a, a.value)
	return a.activationRecord(), nil
}

// replaceActor ends the actor of an epoch before. It is one that came too late: an
// actor that is in use is deactivated first.
func (e executor) replaceActor(a *actor, epoch int64) error {
	if a.epoch > epoch {
		return fmt.Errorf("%w: epoch %d is active", placement.ErrStale, a.epoch)
	}
	if a.serving {
		e.process.world.fail(TwoActivations, "%v is in use and was not ended when epoch %d began in the same process", a, epoch)
	}
	a.endActor()
	return nil
}

// randomFault returns an error, or panics, now and then.
func (e executor) randomFault() error {
	w := e.process.world
	if w.failing == 0 || !w.fate.dice.chance(0.3) {
		return nil
	}
	w.oracle.counts.ExecutorFailures++
	if w.fate.dice.chance(0.3) {
		panic(errExecutor)
	}
	return errExecutor
}

// mustWait reports whether the process is paused: what it was told is done later.
func (e executor) mustWait() bool {
	f := e.process.world.fate
	f.again = e.process.machine.paused > 0 || e.process.gone
	return f.again
}

// cutOff ends an actor that takes too long to end.
func (e executor) cutOff(a *actor, epoch int64) error {
	if a != nil && a.epoch == epoch {
		e.process.world.tracef("%v takes too long to end, and is cut off", a)
		a.endActor()
	}
	return errExecutor
}

// Deactivate implements driver.Executor. It takes until the actor has done what it
// is doing, unless the activation is lost.
func (e executor) Deactivate(_ context.Context, c placement.Deactivate) error {
	p, w := e.process, e.process.world
	a := p.actors[c.Key]
	switch {
	case w.fate.refused:
		return e.cutOff(a, c.Epoch)
	case e.mustWait():
		return errExecutor
	case a == nil || a.epoch != c.Epoch:
		return nil
	case c.Cause == placement.CauseIdle && a.inUse():
		return &driver.BusyError{UsedAt: p.machine.clock.wall()}
	case c.Cause == placement.CauseIdle && a.used.After(c.IdleSince):
		return &driver.BusyError{UsedAt: a.used}
	case c.Cause != placement.CauseLost && a.busy && w.mutation != DeactivateEarly:
		a.draining, w.fate.again = true, true
		return errExecutor
	}
	w.tracef("%v ends, cause %d", a, c.Cause)
	if w.mutation == DeactivateEarly && a.busy {
		return nil // it goes on, and nothing knows of it
	}
	a.endActor()
	return nil
}
