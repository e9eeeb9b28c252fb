// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"

	"github.com/kazahana-db/kazahana/placement"
)

// newClientSession returns the session of a client, which can resolve keys once it is told of a
// topology.
func (p *process) newClientSession() (*session, error) {
	s, err := p.newSession(placement.Owner{Name: "client " + rand.Text(), Incarnation: 1}, nil, nil)
	if err != nil {
		return nil, err
	}
	return s, s.driver.StartClient()
}

// part makes a client by which what still runs here calls others while the host stops: the driver of
// the session refuses to resolve by then. The client is told of each topology that the session is told of.
func (h *Host) part() {
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
	h.parting.Store(c)
	s.tell(c)
}

// endParting ends the client of part.
func (h *Host) endParting(ctx context.Context) error {
	if c := h.parting.Swap(nil); c != nil {
		return c.stop(ctx)
	}
	return nil
}

// sessionFor returns the session that places a request, or why there is none.
func (p *process) sessionFor(r *Request) (*session, error) {
	s, err := p.current()
	if p.state.Load() != stateStopped {
		return s, err
	}
	fromHere := r.Forwards == 0 && len(r.Chain) > 0
	if c := p.parting.Load(); c != nil && fromHere {
		return c, nil
	}
	return nil, placement.ErrStopped
}
