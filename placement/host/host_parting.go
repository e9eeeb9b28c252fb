// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
)

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
