// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"time"
)

// client proposes entries and asks to read, at any node.
type client struct {
	world    *world
	proposed uint64
	over     bool
}

// clientEvery is the mean time between two requests of the client.
const clientEvery = 15 * time.Millisecond

func (c *client) start() {
	c.world.After(c.world.between(0, 2*clientEvery), func() {
		if c.over {
			return
		}
		p := c.world.nodes[c.world.random.IntN(len(c.world.nodes))]
		if c.world.random.IntN(3) == 0 {
			p.whenAwake(func() { c.read(p) })
		} else {
			p.whenAwake(func() { c.propose(p) })
		}
		c.start()
	})
}

func (c *client) propose(p *process) {
	c.proposed++
	data := binary.BigEndian.AppendUint64(nil, c.proposed)
	p.run(func() error { return p.core.Propose(data) })
}

func (c *client) read(p *process) {
	request := c.world.oracle.newRequest()
	p.run(func() error { return p.core.ReadIndex(request) })
}
