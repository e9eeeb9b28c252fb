// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Lookup finds out where virtual actors are. A program polls it, and executes the commands; a
// [Partition] is one. It is not safe for concurrent use.
type Lookup interface {
	// SetupMember makes it the lookup of a member that activates these kinds.
	SetupMember(kinds []string, now time.Time) error
	// SetupClient makes it the lookup of a client, which activates nothing.
	SetupClient(now time.Time) error
	// Resolve returns where to send what is for a key. While that is being found
	// out, the error is an ErrPending: call again later.
	Resolve(key placement.Key, now time.Time) (Resolution, error)
	// UpdateTopology puts a topology in force. It refuses an older one.
	UpdateTopology(t placement.Topology, now time.Time) error
	// OnMemberLeft takes a member out of the topology.
	OnMemberLeft(o placement.Owner, now time.Time)
	// PassivateIdle ends the activations that were not used for a time.
	PassivateIdle(now time.Time, idle time.Duration)
	// DrainEvents returns the events since the last call, in order.
	DrainEvents() []placement.Event
	// DrainCacheEvents returns the events of the cache of locations since the last call, in order.
	DrainCacheEvents() []CacheEvent
}

// maxFailures bounds the errors that are kept for resolves that may never come.
const maxFailures = 10_000

// Partition is a [Lookup] over a [Coordinator], which places keys by
// rendezvous hashing unless its options say otherwise. The program executes
// the commands that DrainCommands returns and passes their results on. It is not safe for
// concurrent use.
type Partition struct {
	c        *Coordinator
	commands []Command
	events   []placement.Event
	cache    []CacheEvent
	failures map[placement.Key]error // of requests that have ended, for the next resolve
	waiting  map[placement.Key]placement.RequestID
}

var _ Lookup = (*Partition)(nil)

// NewPartition returns a lookup over a coordinator, which it owns from then on.
func NewPartition(c *Coordinator) *Partition {
	return &Partition{c: c, failures: map[placement.Key]error{}, waiting: map[placement.Key]placement.RequestID{}}
}

// SetupMember implements [Lookup].
func (p *Partition) SetupMember(kinds []string, now time.Time) error {
	out, err := p.c.StartMember(kinds, now)
	p.keepOutcome(out)
	return err
}

// SetupClient implements [Lookup].
func (p *Partition) SetupClient(now time.Time) error {
	out, err := p.c.StartClient(now)
	p.keepOutcome(out)
	return err
}

// Resolve implements [Lookup]. If the request that it waited for has failed, it
// returns that error, once; the next call begins anew.
func (p *Partition) Resolve(key placement.Key, now time.Time) (Resolution, error) {
	if err := p.pollFailure(key, now); err != nil {
		return Resolution{}, err
	}
	out, err := p.c.Resolve(key, now)
	p.keepOutcome(out)
	switch {
	case err != nil:
		return Resolution{}, err
	case out.Resolution != nil:
		return *out.Resolution, nil
	}
	p.waiting[key] = out.Request
	return Resolution{}, pendingError(key, out.Request)
}

// pollFailure returns the error of a key while its request is under way, or after it has failed.
func (p *Partition) pollFailure(key placement.Key, now time.Time) error {
	if err, failed := p.failures[key]; failed {
		delete(p.failures, key)
		p.events = append(p.events, placement.Event{Kind: placement.Refused, Key: key, Reason: err.Error(), ObservedAt: now})
		return err
	}
	if id, waits := p.waiting[key]; waits {
		p.events = append(p.events, placement.Event{Kind: placement.Joined, Key: key, Request: id, Reason: "polled", ObservedAt: now})
		return pendingError(key, id)
	}
	return nil
}

// UpdateTopology implements [Lookup].
func (p *Partition) UpdateTopology(t placement.Topology, now time.Time) error {
	out, err := p.c.UpdateTopology(t, now)
	p.keepOutcome(out)
	return err
}

// OnMemberLeft implements [Lookup].
func (p *Partition) OnMemberLeft(o placement.Owner, now time.Time) {
	p.keepOutcome(p.c.OnMemberLeft(o, now))
}

// PassivateIdle implements [Lookup]. It also answers what waits for too long, and
// tries again what could not be given back: call it about once a second.
func (p *Partition) PassivateIdle(now time.Time, idle time.Duration) {
	p.keepOutcome(p.c.Tick(now))
	p.keepOutcome(p.c.PassivateIdle(now, idle))
}

// HandleCommandResult passes on what became of a command.
func (p *Partition) HandleCommandResult(r CommandResult, now time.Time) error {
	out, err := p.c.HandleCommandResult(r, now)
	p.keepOutcome(out)
	return err
}

// Stop stops the lookup. It gives back what it holds through further commands.
func (p *Partition) Stop(now time.Time) error {
	out, err := p.c.Stop(now)
	p.keepOutcome(out)
	return err
}

// Snapshot returns what the coordinator knows and does.
func (p *Partition) Snapshot() placement.Snapshot { return p.c.Snapshot() }

// keepOutcome keeps what an outcome has for the program.
func (p *Partition) keepOutcome(out Outcome) {
	p.commands = append(p.commands, out.Commands...)
	p.events = append(p.events, out.Events...)
	p.cache = append(p.cache, out.CacheEvents...)
	for _, a := range out.Answers {
		if p.waiting[a.Key] != a.Request {
			continue
		}
		delete(p.waiting, a.Key)
		if a.Err != nil {
			if len(p.failures) >= maxFailures {
				clear(p.failures)
			}
			p.failures[a.Key] = a.Err
		}
	}
}

// DrainCommands returns the commands to be executed, each once.
func (p *Partition) DrainCommands() []Command { return drain(&p.commands) }

// DrainEvents implements [Lookup].
func (p *Partition) DrainEvents() []placement.Event { return drain(&p.events) }

// DrainCacheEvents implements [Lookup].
func (p *Partition) DrainCacheEvents() []CacheEvent { return drain(&p.cache) }

func drain[T any](s *[]T) []T {
	drained := *s
	*s = nil
	return drained
}
