// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// registry models the members in the database: what is in force there at an
// instant of true time. A method is one transaction.
type registry struct {
	version int64
	members map[string]*lease
	used    map[string]int64 // the latest incarnation of each name
	changed func()           // is called after each change of the version
	now     func() time.Duration
	bumped  time.Duration // when the version changed last
	died    func(placement.Owner)
	reuse   bool // with ReuseIncarnations
	evicted int
}

// lease is what the database knows of a member.
type lease struct {
	placement.Member
	renewals int
}

// membersView is one view of the registry.
type membersView struct {
	topology placement.Topology
	renewals map[string]int
}

// isAlive reports whether an owner is a member. The home of locks asks.
func (r *registry) isAlive(o placement.Owner) bool {
	m := r.members[o.Name]
	return m != nil && m.Incarnation == o.Incarnation
}

// join gives a name a new incarnation, unless a member has the name: that one is
// returned.
func (r *registry) join(m placement.Member) (owner placement.Owner, holder *lease) {
	if held := r.members[m.Name]; held != nil {
		same := *held
		return placement.Owner{}, &same
	}
	if !r.reuse || r.used[m.Name] == 0 {
		r.used[m.Name]++
	}
	m.Incarnation = r.used[m.Name]
	r.members[m.Name] = &lease{Member: m}
	r.bumpVersion()
	return m.Owner, nil
}

func (r *registry) renew(o placement.Owner) bool {
	if !r.isAlive(o) {
		return false
	}
	r.members[o.Name].renewals++
	return true
}

// drain notes that a member is about to leave.
func (r *registry) drain(o placement.Owner) {
	if r.isAlive(o) {
		r.members[o.Name].Draining = true
		r.bumpVersion()
	}
}

// leave ends a membership. In the same step the home of locks knows of it.
func (r *registry) leave(o placement.Owner) {
	if r.isAlive(o) {
		delete(r.members, o.Name)
		r.died(o)
		r.bumpVersion()
	}
}

// remove takes the lease of a name away, as an administrator may.
func (r *registry) remove(name string) {
	if m := r.members[name]; m != nil {
		r.evicted++
		r.leave(m.Owner)
	}
}

// label changes what a member announces.
func (r *registry) label(name, label, value string) {
	if m := r.members[name]; m != nil {
		m.Labels = map[string]string{label: value}
		m.Load++
		r.bumpVersion()
	}
}

// evict takes the lease of a member away that has not renewed it since it was
// observed.
func (r *registry) evict(o placement.Owner, renewals int) bool {
	if !r.isAlive(o) || r.members[o.Name].renewals != renewals {
		return false
	}
	r.evicted++
	r.leave(o)
	return true
}

func (r *registry) bumpVersion() {
	r.version++
	r.bumped = r.now()
	r.changed()
}

// read returns the view of this instant. The members are in the order of their names.
func (r *registry) read() membersView {
	s := membersView{topology: placement.Topology{Version: r.version}, renewals: make(map[string]int, len(r.members))}
	for name, m := range r.members {
		s.topology.Members = append(s.topology.Members, m.Member)
		s.renewals[name] = m.renewals
	}
	slices.SortFunc(s.topology.Members, func(a, b placement.Member) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// registers are what actors store outside package memory's home: how many calls each
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
