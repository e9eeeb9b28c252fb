// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Host is a process in which virtual actors are active. It is safe for
// concurrent use.
type Host struct {
	process

	mu      sync.Mutex
	kinds   map[string]*kind
	started bool

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	ended  chan struct{} // closed when superviseSessions has returned
	stop   firstStop
}

// New returns a host on a database. It does not read or write until Start.
func New(db kv.Database, o Options) (*Host, error) {
	if o.Name == "" {
		return nil, errors.Join(errors.New("host: the options have no Name"), o.Validate())
	}
	p, err := newProcess(db, o)
	if err != nil {
		return nil, err
	}
	return newHost(p), nil
}

func newHost(p *process) *Host {
	h := &Host{kinds: make(map[string]*kind), ended: make(chan struct{}), stop: newFirstStop()}
	h.options, h.cluster = p.options, p.cluster
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// addKind adds a kind.
func (h *Host) addKind(k *kind) error {
	if err := (placement.Key{Kind: k.name, ID: "id"}).Validate(); err != nil {
		return registrationError(k.name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return registrationError(k.name, fmt.Errorf("%w; register before Start", ErrStarted))
	}
	if _, taken := h.kinds[k.name]; taken {
		return registrationError(k.name, errors.New("the kind is registered already"))
	}
	h.kinds[k.name] = k
	return nil
}

// addMethod adds a method to a kind.
func (h *Host) addMethod(k *kind, m *method) error {
	full := k.name + "." + m.name
	if err := checkMethod(m.name); err != nil {
		return registrationError(full, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return registrationError(full, fmt.Errorf("%w; register before Start", ErrStarted))
	}
	if _, taken := k.methods[m.name]; taken {
		return registrationError(full, errors.New("the kind has a method of this name"))
	}
	k.methods[m.name] = m
	return nil
}

// Start makes the process a member, which activates the kinds that are
// registered, and serves the transport. It waits for a member of the same name that has died,
// and fails if there is one that is alive. After an error it can be called again.
func (h *Host) Start(ctx context.Context) error {
	if err := h.claimStart(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)() // Stop ends the joining
	s, err := h.joinCluster(ctx, nil, 0)
	if err := h.adoptSession(s, err); err != nil {
		return err
	}
	go h.superviseSessions(s)
	if err := h.options.Transport.Serve(h.serveRequest); err != nil {
		return errors.Join(fmt.Errorf("host: the transport does not serve: %w", err), h.Stop(ctx))
	}
	return nil
}

// claimStart lets one Start run.
func (h *Host) claimStart() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.state.Load() == stateStopped:
		return placement.ErrStopped
	case h.started:
		return ErrStarted
	}
	h.started = true
	return nil
}

// adoptSession begins to use the session. It leaves at once if Stop came first.
func (h *Host) adoptSession(s *session, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.state.Load() == stateStopped && err == nil:
		return errors.Join(placement.ErrStopped, s.stopAndLeave(h.ctx))
	case err != nil:
		h.started = false
		return err
	}
	h.session.Store(s)
	h.state.Store(stateStarted)
	return nil
}

// A host that joins again spreads its claims over a time that grows with the activations that
// it has lost: a few keys are claimed at once.
const (
	mostSpread    = 5 * time.Second
	spreadOfClaim = time.Millisecond // of each activation
)

// claimSpread returns over which time a host spreads the claims of n lost activations.
func claimSpread(lease time.Duration, n int) time.Duration {
	return min(lease/2, mostSpread, time.Duration(n)*spreadOfClaim)
}

// takeSeat makes the process a member under a new incarnation, in the place of the seat that it has
// lost, if any.
func (h *Host) takeSeat(ctx context.Context, kinds []string, lost seat) (seat, error) {
	if lost != nil {
		return lost.Rejoin(ctx)
	}
	return h.cluster.joinMember(ctx, placement.Member{
		Owner: placement.Owner{Name: h.options.Name}, Address: h.options.Transport.Address(), Kinds: kinds, Labels: h.options.Labels,
	})
}

// joinCluster makes the process a member, see takeSeat, which spreads its first claims over a time.
func (h *Host) joinCluster(ctx context.Context, lost seat, spread time.Duration) (*session, error) {
	kinds := slices.Sorted(maps.Keys(h.kinds))
	seat, err := h.takeSeat(ctx, kinds, lost)
	if err != nil {
		return nil, err
	}
	s, err := h.newSession(seat.Owner(), seat, h.kinds, spread)
	if err == nil {
		err = s.driver.StartMember(kinds)
	}
	if err != nil {
		return nil, errors.Join(err, seat.Leave(ctx))
	}
	s.startTasks()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stopAndLeave(ctx))
	}
	return s, nil
}

// superviseSessions joins again each time the membership is lost, until Stop.
func (h *Host) superviseSessions(s *session) {
	defer close(h.ended)
	unclaimed := 0
	for s != nil {
		select {
		case <-s.ctx.Done():
		case <-h.ctx.Done():
			return
		}
		h.lost.Store(&lostSeat{s.owner.Name, context.Cause(s.ctx)})
		h.session.Store(nil)
		h.options.Logger.Warn("host: the membership is lost; all activations end", "member", s.owner.String(), "err", context.Cause(s.ctx))
		unclaimed = s.countUnclaimed(unclaimed)
		lost, spread := s.seat, claimSpread(h.options.Lease, unclaimed)
		if !s.loseAll() {
			lost = nil // others must not claim what still runs before the lease lapses
		}
		s = h.joinAgain(lost, spread)
		h.session.Store(s)
	}
}

// joinAgain joins until it succeeds. It returns nil when the host stops. An outage that was longer
// than the lease has ended the activations of all members, so the claims are spread over a time.
func (h *Host) joinAgain(lost seat, spread time.Duration) *session {
	for attempt := 0; ; attempt++ {
		s, err := h.joinCluster(h.ctx, lost, spread)
		if err == nil {
			return s
		}
		if h.ctx.Err() == nil {
			h.lost.Store(&lostSeat{h.options.Name, err})
			h.options.Logger.Warn("host: joining again has failed", "member", h.options.Name, "err", err)
		}
		if backoff(h.ctx, attempt) != nil {
			return nil
		}
	}
}

// Stop refuses calls, ends all activations, hands them back, leaves the cluster and closes the
// transport, even if the host was not started. Until then handlers, timers and Deactivate can call
// activations of other members with the context that they were given. Other members may activate
// the keys at once. If ctx or the membership ends first, the contexts of handlers end, and the
// error says what is left; what a lost membership has left ends in the background then. Other members can claim that as soon as this one has left, and writes
// under its fences fail. A host cannot be started again. A second Stop waits for the first one, until
// its own context ends, and returns the same error.
func (h *Host) Stop(ctx context.Context) error {
	h.mu.Lock()
	if h.state.Load() == stateStarted {
		h.openDetached()
	}
	was := h.state.Swap(stateStopped)
	h.mu.Unlock()
	h.cancel()
	if was == stateStopped {
		return h.stop.await(ctx)
	}
	return h.stop.run(func() error { return h.stopFrom(ctx, was) })
}

// stopFrom stops a host that was in a state.
func (h *Host) stopFrom(ctx context.Context, was int32) error {
	if was == stateNew { // a Start that runs leaves by itself
		return h.options.Transport.Close(ctx)
	}
	return errors.Join(h.stopSession(ctx), h.closeDetached(ctx), h.options.Transport.Close(ctx))
}

// stopSession stops and leaves. If ctx ends while activations of a lost membership end, or while
// the host joins again, it leaves once that is over.
func (h *Host) stopSession(ctx context.Context) error {
	if s := h.session.Load(); s != nil && s.ctx.Err() == nil {
		<-h.ended // at once: no membership is lost
		return h.stopLastSession(ctx)
	}
	select {
	case <-h.ended:
		return h.stopLastSession(ctx)
	case <-ctx.Done():
	}
	go func() {
		<-h.ended
		if err := h.stopLastSession(ctx); err != nil {
			h.options.Logger.Warn("host: after Stop has returned", "member", h.options.Name, "err", err)
		}
	}()
	return fmt.Errorf("host: Stop waits for the end of a lost membership: %w", context.Cause(ctx))
}

// stopLastSession stops the session that is left when no other one begins any more.
func (h *Host) stopLastSession(ctx context.Context) error {
	if s := h.session.Load(); s != nil {
		return s.stopAndLeave(ctx)
	}
	return nil
}

// Member returns the member that this process is, and false while it is not a member.
func (h *Host) Member() (placement.Owner, bool) {
	s := h.session.Load()
	if s == nil {
		return placement.Owner{}, false
	}
	return s.owner, true
}

// openDetached opens a client session through which handlers call others while the host
// stops: the driver of the session refuses resolves by then. The client gets each topology
// that the session gets.
func (h *Host) openDetached() {
	s := h.session.Load()
	if s == nil { // nothing runs
		return
	}
	p := &process{options: h.options, cluster: h.cluster}
	p.options.Events = nil // which are those of the host
	c, err := p.newClientSession()
	if err != nil {
		h.options.Logger.Warn("host: what still runs while the host stops cannot call others", "err", err)
		return
	}
	h.detached.Store(c)
	s.relayTo(c)
}

// closeDetached stops the client session of openDetached.
func (h *Host) closeDetached(ctx context.Context) error {
	if c := h.detached.Swap(nil); c != nil {
		return c.stopAndLeave(ctx)
	}
	return nil
}
