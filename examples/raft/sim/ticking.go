// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// idle are timers that never fire, where etcd/raft's own run the group.
type idle struct{ clock *clock }

func (i idle) BecomeFollower() error  { return nil }
func (i idle) BecomeCandidate() error { return nil }
func (i idle) BecomeLeader() error    { return nil }
func (i idle) Contact()               {}
func (i idle) Now() time.Duration     { return i.clock.now() }

// startTicking calls Tick as a time.Ticker does that was started at any time: on a grid. A
// process that stood still gets one tick for all that it has missed.
func (p *process) startTicking() {
	running := true
	p.ticking = &running
	every := p.clock.lasts(p.world.options.tick(p.world.timing.Config()))
	if every == 0 {
		return
	}
	missed := false
	var tick func()
	tick = func() {
		if !running {
			return
		}
		if !p.paused || !missed {
			missed = p.paused
			p.whenAwake(func() {
				missed = false
				p.do(p.core.Tick)
			})
		}
		p.world.After(every, tick)
	}
	p.world.After(p.world.between(0, every), tick)
}
