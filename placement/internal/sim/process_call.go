// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// newCall calls a key.
func (p *process) newCall(key placement.Key, patience time.Duration, done func(placement.Holder, error)) {
	now := p.world.Now()
	c := &call{origin: p, key: key, since: now, by: now + patience, done: done}
	p.world.oracle.counts.Calls++
	c.startAttempt()
}
