// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
)

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
