// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
)

// openDetached makes a client by which what still runs here calls others while the host stops: the driver of
// the session refuses to resolve by then. The client is told of each topology that the session is told of.
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

// closeDetached ends the client of part.
func (h *Host) closeDetached(ctx context.Context) error {
	if c := h.detached.Swap(nil); c != nil {
		return c.stopAndLeave(ctx)
	}
	return nil
}
