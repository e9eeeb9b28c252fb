// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Durations of the members' leases, and of what depends on them.
const (
	memberLease = 3 * time.Second
	renewal     = memberLease / 3
	tick        = 250 * time.Millisecond
)

// observation is what a process has seen of a member's renewals.
type observation struct {
	owner    placement.Owner
	renewals int
	since    time.Duration // by the observer's monotonic clock
}

type joinReply struct {
	owner  placement.Owner
	holder *lease
}

// joinRegistry asks for an incarnation until it gets one. Between the attempts it observes whether a
// predecessor renews, until that has not renewed for as long as a lease lasts.
func (p *process) joinRegistry() {
	ask(p, "join", func() joinReply {
		owner, holder := p.world.registry.join(p.machine.member())
		return joinReply{owner, holder}
	}, func(j joinReply, err error) {
		switch {
		case err != nil:
			p.after(p.machine.clock.trueDuration(renewal), p.joinRegistry)
		case j.holder != nil:
			p.observeMember(j.holder.Owner, j.holder.renewals)
			p.after(p.machine.clock.trueDuration(renewal), p.joinRegistry)
		default:
			p.owner = j.owner
			p.world.oracle.counts.Joins++
			p.world.tracef("%v joins as %v", p, p.owner)
			p.startServing()
		}
	})
}

// renewLease renews the membership. The lease is counted from before the request.
func (p *process) renewLease() {
	if p.machine.client || p.leaving {
		return
	}
	began := p.machine.clock.monotonic()
	ask(p, "renew", func() bool { return p.world.registry.renew(p.owner) }, func(renewed bool, err error) {
		switch {
		case err != nil:
		case renewed:
			p.renewed = max(p.renewed, began) // replies overtake each other
		case !p.leaving:
			p.loseMembership("it was evicted")
		}
	})
}

// loseMembership ends the process, as a program does when its membership may have ended: it
// drops everything and starts again.
func (p *process) loseMembership(why string) {
	p.world.tracef("%v has lost its membership: %s", p, why)
	p.world.oracle.counts.Lost++
	p.driver.LoseAll()
	p.leaving = true
	p.after(p.machine.clock.trueDuration(tick), p.leaveInOrder)
}

// watchMembers reads the members, tells the driver of them and evicts the dead.
func (p *process) watchMembers() {
	ask(p, "watch", p.world.registry.read, func(s membersView, err error) {
		if err != nil {
			return
		}
		p.deliverTopology(s.topology)
		if !p.machine.client {
			for _, m := range s.topology.Members {
				p.observeMember(m.Owner, s.renewals[m.Name])
			}
		}
	})
}

// observeMember evicts a member that has not renewed for as long as its lease lasts.
func (p *process) observeMember(o placement.Owner, renewals int) {
	now := p.machine.clock.monotonic()
	last, known := p.observed[o.Name]
	switch {
	case o == p.owner:
	case !known || last.owner != o || last.renewals != renewals:
		p.observed[o.Name] = observation{o, renewals, now}
	case now-last.since >= memberLease:
		ask(p, "evict", func() bool { return p.world.registry.evict(o, renewals) }, func(evicted bool, _ error) {
			if evicted && p.driver != nil {
				p.driver.OnMemberLeft(o)
			}
		})
	}
}

// deliverTopology gives the driver a topology. Topologies may come in any order.
func (p *process) deliverTopology(t placement.Topology) {
	if p.driver == nil || p.leaving {
		return
	}
	if t.Version != p.version {
		p.world.tracef("%v is given topology %d", p, t.Version)
	}
	p.version = max(p.version, t.Version)
	_ = p.driver.UpdateTopology(p.world.topologyFor(p, t)) // one that is older is refused
}

// drainAndStop leaves cleanly: the member drains, hands everything back and leaves. It
// does not wait for longer than a bound.
func (p *process) drainAndStop() {
	if p.leaving || p.gone {
		return
	}
	p.leaving = true
	if p.driver == nil {
		p.exit()
		return
	}
	ask(p, "drain", func() bool { p.world.registry.drain(p.owner); return true }, func(bool, error) {
		p.stopDriver()
	})
}

// begun is a context that has ended: Stop begins and does not wait.
var begun = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// stopDriver stops the driver and leaves once everything was handed back, or after a
// while.
func (p *process) stopDriver() {
	if err := p.driver.Stop(begun); err != nil {
		p.world.tracef("%v begins to stop: %v", p, err)
	}
	p.awaitHandback(p.machine.clock.monotonic() + goodbye)
}

func (p *process) awaitHandback(by time.Duration) {
	s := p.driver.Snapshot()
	switch {
	case s.Dead != "": // it has lost all, and hands nothing back
	case s.Held == 0:
		p.world.tracef("%v has handed everything back", p)
		p.world.oracle.noteStopped(p)
	case p.machine.clock.monotonic() < by:
		p.after(50*time.Millisecond, func() { p.awaitHandback(by) })
		return
	default:
		p.world.tracef("%v leaves with %d held", p, s.Held)
		if p.world.closed {
			p.world.fail(LeftBehind, "%v still holds %d after %v", p, s.Held, goodbye)
		}
	}
	ask(p, "leave", func() bool { p.world.registry.leave(p.owner); return true }, func(bool, error) {
		p.world.oracle.counts.Leaves++
		p.leaveInOrder()
	})
}
