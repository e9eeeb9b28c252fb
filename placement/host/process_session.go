// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// newClientSession returns the session of a client, which can resolve keys once it has a
// topology.
func (p *process) newClientSession() (*session, error) {
	s, err := p.newSession(placement.Owner{Name: "client " + rand.Text(), Incarnation: 1}, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	return s, s.driver.StartClient()
}

// sessionFor returns the session that resolves the key of a request, or why there is none.
func (p *process) sessionFor(r *Request) (*session, error) {
	s, err := p.currentSession()
	if p.state.Load() != stateStopped {
		return s, err
	}
	fromHere := r.Forwards == 0 && len(r.Chain) > 0
	if c := p.detached.Load(); c != nil && fromHere {
		return c, nil
	}
	return nil, placement.ErrStopped
}

// currentSession returns the session, or why there is none.
func (p *process) currentSession() (*session, error) {
	s := p.session.Load()
	switch state := p.state.Load(); {
	case state == stateNew:
		return nil, ErrNotStarted
	case state == stateStopped:
		return nil, placement.ErrStopped
	case s == nil:
		return nil, placement.ErrNotReady
	}
	return s, nil
}

// newSession returns the session of an owner, whose driver spreads its first claims over a time. It
// does nothing yet.
func (p *process) newSession(owner placement.Owner, s seat, kinds map[string]*kind, spread time.Duration) (*session, error) {
	n := &session{options: &p.options, cluster: p.cluster, owner: owner, seat: s, kinds: make(map[string]*activations), pid: owner.String(), began: time.Now(), ready: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	for name, k := range kinds {
		n.kinds[name] = newActivations(k, n)
	}
	c, err := placement.NewCoordinator(placement.Options{Self: owner, Address: p.options.Transport.Address(), Strategy: p.options.Strategy})
	if err != nil {
		return nil, err
	}
	d, err := driver.New(c, p.cluster.homes(n), driver.Options{
		ClaimSpread:    spread,
		IdleAfter:      max(p.options.IdleAfter, 0),
		CommandTimeout: p.options.DeactivateTimeout + 2*endGrace + 5*time.Second,
		Events:         p.options.Events,
		Logger:         p.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.driver = d
	return n, nil
}
