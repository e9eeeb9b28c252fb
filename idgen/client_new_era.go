// SPDX-License-Identifier: Apache-2.0

package idgen

// leasedEra returns an era of the chosen leases.
func (c *Client) leasedEra(p leaseChoice) *era {
	e := c.newEra(p.mode, p.from, p.until)
	flag := uint64(0)
	if p.mode == continued {
		flag = c.layout.fallbackBit()
	}
	e.leases = p.leases
	spans := make([]span, len(p.leases))
	for i, l := range p.leases {
		spans[i] = l.positionSpan()
		spans[i].base += flag
	}
	e.span = min(e.layOut(spans), uint64(c.opts.MaxThroughputPerMs))
	e.start = func() uint64 { return 0 }
	if half := (e.span + 1) / 2; c.opts.SpreadSequence {
		e.start = func() uint64 { return c.random() % half }
	}
	return e
}

// randomEra returns an era of random fallback IDs. A managed client leaves out
// the positions in which holders of leases may be continuing.
func (c *Client) randomEra(from, until int64) *era {
	e := c.newEra(random, from, until)
	half := c.layout.fallbackBit()
	reserved := uint64(0)
	if c.opts.Provider != nil {
		reserved = c.layout.FallbackPositions()
	}
	size := half - reserved // a power of two
	e.span = e.layOut([]span{{half + reserved, size}})
	e.start = func() uint64 { return c.random() & (size - 1) }
	return e
}

// initialEra returns the era of a client that has no lease: it waits for one,
// or is in standalone mode.
func (c *Client) initialEra() *era {
	if c.opts.Provider == nil {
		return c.randomEra(0, forever)
	}
	return c.emptyEra(waiting)
}

// emptyEra returns an era without IDs.
func (c *Client) emptyEra(m mode) *era { return c.newEra(m, forever, forever) }

func (c *Client) newEra(m mode, from, until int64) *era {
	l := c.layout
	return &era{mode: m, layout: l, epoch: l.CustomEpochMs, lowBits: uint(l.lowBits()), from: from, until: until}
}
