// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/memory"
)

// registers are those of actors beside package memory's home: how many calls each
// has handled.
type registers struct {
	*memory.Home
	store *store
	all   map[placement.Key]*register
}

type register struct {
	value int
	seen  int64 // the greatest epoch that has read or written it
}

// Update implements [Store].
func (s registers) Update(key placement.Key, owner placement.Owner, epoch int64, change func(int) int) error {
	r := s.all[key]
	if r == nil {
		r = &register{}
		s.all[key] = r
	}
	if err := s.checkFence(r, key, owner, epoch); err != nil {
		return err
	}
	r.value, r.seen = change(r.value), max(r.seen, epoch)
	return nil
}

// checkFence returns an ErrActivationLost if the epoch is not in force. Where the claim is the
// activation the home says so, as with the fence of package kvstore; else the
// register refuses an epoch below one that it has seen.
func (s registers) checkFence(r *register, key placement.Key, owner placement.Owner, epoch int64) error {
	h, owns := s.store.hasClaim(key, owner, epoch)
	switch {
	case s.store.world.permitted:
		return nil
	case s.store.kept && !owns:
		return fmt.Errorf("%w: %v has epoch %d", placement.ErrActivationLost, h.Owner, h.Epoch)
	case epoch < r.seen:
		return fmt.Errorf("%w: the register has seen epoch %d", placement.ErrActivationLost, r.seen)
	}
	return nil
}

// effect is one write of an actor.
type effect struct {
	actor     *actor
	attempt   *attempt
	base      int  // what the register had, as the actor believes
	found     int  // what it had
	reread    bool // the actor is unsure: it reads first, in the same step
	permitted bool // the fence was checked when the effect was sent, or is not checked
}

// apply writes to the register, in the step in which the fence is checked. The error is
// an errUnknown if the process does not learn what has happened.
func (e *effect) apply(d dice) error {
	w, a := e.actor.process.world, e.actor
	if !w.reachesStore(a.process.machine) {
		return errUnknown
	}
	err := w.updateRegister(a, e.permitted, func(found int) int {
		e.found = found
		if e.reread {
			e.base = found
		}
		return e.base + 1
	})
	switch {
	case errors.Is(err, placement.ErrActivationLost):
		w.oracle.counts.Fenced++
		w.tracef("%v is refused by its fence: %v", a, err)
		return err
	case err != nil:
		w.fail(Broken, "%v cannot write: %v", a, err)
		return err
	}
	w.tracef("%v writes %d", a, e.base+1)
	w.oracle.checkEffect(e)
	if w.losesReply(d) {
		w.oracle.counts.LostReplies++
		return errUnknown
	}
	return nil
}
