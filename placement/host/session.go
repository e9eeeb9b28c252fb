// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// session is one incarnation of a member, or of a client. Its activations end with it.
type session struct {
	options *Options
	cluster cluster
	owner   placement.Owner
	seat    seat // nil for a client
	driver  lookup
	kinds   map[string]*activations
	pid     string                 // of all activations
	began   time.Time              // uses are counted from here
	id      atomic.Pointer[string] // of the cluster, in the last topology; nil: not known yet

	ctx    context.Context // ends with the membership; its cause says why
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // what runs until ctx ends
	stuck  atomic.Int64   // activations that count as ended, and still run something
	load   atomic.Int64   // how many activations were told last

	readyOnce sync.Once
	ready     chan struct{} // closed once a topology is in force

	relayMu sync.Mutex // guards what follows
	latest  placement.Topology
	relay   *session // another one that is told of topologies; nil: none
}

// startTasks follows the topology and ticks until the session ends.
func (s *session) startTasks() {
	s.tasks.Go(func() { _ = s.driver.Run(s.ctx) })
	s.tasks.Go(func() {
		for attempt := 0; s.ctx.Err() == nil; attempt++ {
			err := s.cluster.watchMembers(s.ctx, s.updateTopology)
			if s.ctx.Err() == nil {
				s.options.Logger.Warn("host: the members cannot be watched", "err", err)
			}
			_ = backoff(s.ctx, attempt)
		}
	})
	if s.seat != nil {
		s.tasks.Go(s.tellLoad)
		context.AfterFunc(s.seat.Context(), func() {
			s.cancel(fmt.Errorf("%w: %w", placement.ErrActivationLost, context.Cause(s.seat.Context())))
		})
	}
}

// tellLoad publishes the number of activations three times in a lease.
func (s *session) tellLoad() {
	for sleep.For(s.ctx, s.options.Lease/3) == nil {
		s.load.Store(int64(s.countActivations()))
		s.seat.SetLoad(s.load.Load())
	}
}

// countActivations returns how many activations there are.
func (s *session) countActivations() (n int) {
	for _, as := range s.kinds {
		n += as.len()
	}
	return n
}

// countLost returns how many activations end with the session, about: some may have ended already.
func (s *session) countLost() int { return max(s.countActivations(), int(s.load.Load())) }

// countUnclaimed returns how many keys may have to be claimed again after the session, about. Before
// it there were earlier ones to claim, which a short session has not done.
func (s *session) countUnclaimed(earlier int) int {
	if time.Since(s.began) > mostSpread+2*s.options.Lease {
		return s.countLost()
	}
	return max(s.countLost(), earlier)
}

// updateTopology gives a topology to the driver, and to the relay if there is one.
func (s *session) updateTopology(t placement.Topology) {
	s.enforceTopology(t)
	s.relayMu.Lock()
	defer s.relayMu.Unlock()
	if s.latest = t; s.relay != nil {
		s.relay.enforceTopology(t)
	}
}

// relayTo gives topologies to another session from now on, the latest one first.
func (s *session) relayTo(other *session) {
	s.relayMu.Lock()
	defer s.relayMu.Unlock()
	if s.relay = other; s.latest.Version > 0 {
		other.enforceTopology(s.latest)
	}
}

// clusterID returns the id of the cluster, "" if it has none.
func (s *session) clusterID() string {
	if id := s.id.Load(); id != nil {
		return *id
	}
	return ""
}

// enforceTopology gives a topology to the driver.
func (s *session) enforceTopology(t placement.Topology) {
	s.id.Store(&t.Cluster)
	if err := s.driver.UpdateTopology(t); err != nil && !errors.Is(err, placement.ErrStaleTopology) {
		s.options.Logger.Error("host: a topology cannot be used", "version", t.Version, "err", err)
	}
	if s.driver.State() != placement.StateNotReady {
		s.readyOnce.Do(func() { close(s.ready) })
	}
}

// awaitReady waits until keys can be resolved.
func (s *session) awaitReady(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-ctx.Done():
		return fmt.Errorf("host: there is no topology yet: %w", context.Cause(ctx))
	}
}

// loseAll ends all activations and gives nothing back: other members may have them. It reports whether nothing of
// them runs any more.
func (s *session) loseAll() (ended bool) {
	s.driver.LoseAll()
	ctx, cancel := context.WithTimeout(context.Background(), s.options.DeactivateTimeout+2*endGrace)
	defer cancel()
	err := s.driver.Stop(ctx)
	stuck := s.stuck.Load()
	if err != nil || stuck > 0 {
		s.options.Logger.Warn("host: not all activations of a lost membership have ended", "member", s.owner.String(), "running", stuck, "err", err)
	}
	s.tasks.Wait()
	return err == nil && stuck == 0
}

// stopAndLeave gives everything back until ctx ends or the membership is lost, and leaves.
func (s *session) stopAndLeave(ctx context.Context) error {
	holding, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	err := errors.Join(s.drainSeat(holding), s.driver.Stop(holding))
	if s.ctx.Err() != nil {
		s.loseAll()
	}
	s.cancel(ErrDeactivated)
	s.tasks.Wait()
	return errors.Join(err, s.leaveCluster(ctx))
}

// drainSeat makes new activations go elsewhere.
func (s *session) drainSeat(ctx context.Context) error {
	if s.seat == nil {
		return nil
	}
	return s.seat.Drain(ctx)
}

// leaveTimeout is how long a member tries to leave after the context of Stop or the membership has
// ended, so that other members need not wait for its lease.
const leaveTimeout = 2 * time.Second

func (s *session) leaveCluster(ctx context.Context) error {
	if s.seat == nil {
		return nil
	}
	if ctx.Err() != nil || s.seat.Context().Err() != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		ctx = short
	}
	return s.seat.Leave(ctx)
}

func (s *session) sinceStart() uint32 { return uint32(time.Since(s.began) / usedUnit) }

// fenceOf returns the fence of an activation. The driver learns from it that the activation is
// lost: an error alone may be that of another activation which a handler has called.
func (s *session) fenceOf(key placement.Key, epoch int64) leasefdb.Fence {
	return s.cluster.fence(key, s.owner, epoch).WhenLost(func(error) { s.driver.LoseActivation(key, epoch) })
}

// noteCalled tells the driver that a call has ended.
func (s *session) noteCalled(a *Activation, c *call) {
	if errors.Is(context.Cause(s.ctx), placement.ErrActivationLost) {
		s.driver.LoseActivation(a.Key(), a.epoch) // LoseAll may be late
		return
	}
	s.driver.Use(a.Key(), a.epoch)
	a.notePanic(c.outcome.err)
	a.noteUnknown(c.outcome.err)
}

// EnsureActivation implements driver.Executor: it calls the factory of the kind.
func (s *session) EnsureActivation(ctx context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	record := core.ActivationRecord{PID: s.pid}
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return record, fmt.Errorf("host: kind %q is not registered here", clip(c.Key.Kind))
	}
	a, older, made := as.add(c.Key.ID, c.Epoch)
	if older != nil {
		go older.endWithin(context.WithoutCancel(ctx), placement.CauseLost, time.Time{})
	}
	if made {
		return record, a.callFactory(ctx)
	}
	if a.epoch != c.Epoch {
		return record, fmt.Errorf("%w: epoch %d was activated after epoch %d", placement.ErrStale, a.epoch, c.Epoch)
	}
	return record, a.awaitStart(ctx)
}

// Deactivate implements driver.Executor.
func (s *session) Deactivate(ctx context.Context, c core.Deactivate) error {
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return nil
	}
	a := as.find(c.Key.ID, c.Epoch)
	if a == nil {
		return nil
	}
	return a.endWithin(ctx, c.Cause, c.IdleSince)
}

// deliverLocal gives a request to the activation of this process and waits for the
// outcome.
func (s *session) deliverLocal(ctx context.Context, res core.Resolution, r *Request) outcome {
	as, ok := s.kinds[r.Key.Kind]
	if !ok {
		return refusedOutcome(fmt.Errorf("host: kind %q is not registered here", clip(r.Key.Kind)))
	}
	a := as.find(r.Key.ID, res.Epoch)
	if a == nil { // it has just ended, or has by itself: then the driver is to know
		s.driver.Passivate(r.Key, res.Epoch)
		return refusedOutcome(errDraining)
	}
	o := a.callMethod(ctx, r)
	o.holder = placement.Holder{Owner: s.owner, Address: s.options.Transport.Address(), Epoch: a.epoch}
	return o
}

// giveBackUnknown handles a request that was sent here because this process is believed to
// have the key, but must go on: the driver gives back what a home has for this process.
func (s *session) giveBackUnknown(r *Request) {
	if r.To.Epoch > 0 && r.To.Owner == s.owner {
		s.driver.Forget(r.Key, r.To)
	}
}

// learnFromReply corrects the location of a key by a reply. It believes a holder only about
// itself: hearsay could make two processes point at each other for ever.
func (s *session) learnFromReply(key placement.Key, assumed placement.Holder, reply Reply) {
	switch {
	case reply.Holder == assumed:
	case reply.Holder.Epoch > 0:
		s.driver.Learn(key, reply.Holder)
	case reply.Status == Refused && !errors.Is(reply.Err.Err(), ErrOverloaded): // which says nothing about the key
		s.driver.Forget(key, assumed)
	}
}
