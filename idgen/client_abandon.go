// SPDX-License-Identifier: Apache-2.0

package idgen

// AfterRestore tells the client that its process may be a copy of another one
// that goes on: a virtual machine was cloned or restored from a snapshot, or a
// checkpoint of the process was. The client abandons its leases without giving
// them back, since the other one may be using them, and acquires others before
// it makes a further ID. Call it before anything else makes an ID: a client
// notices by itself only that the clock is set right, if that is a step of more
// than five seconds, and in the next millisecond, which is too late for IDs made
// before.
func (c *Client) AfterRestore() {
	c.lock()
	defer c.unlock()
	c.abandonLeases()
}

// abandonLeases drops the leases without releasing them, and a request under
// way, whose reply a copy of this process may get as well. The caller holds mu.
func (c *Client) abandonLeases() {
	k := &c.keeper
	if c.era.Load().mode == closed {
		return
	}
	c.leases.leases, k.spare = nil, nil
	if c.opts.Provider != nil {
		k.restart(c.opts.AcquireRetryInterval)
	}
	c.changeEra(c.initialEra())
}
