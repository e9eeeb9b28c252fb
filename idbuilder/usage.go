// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets of latencies, in seconds.
var bounds = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// keyUsage counts the requests of a key.
type keyUsage struct {
	requests atomic.Uint64 // for IDs, whatever their answer
	given    atomic.Int64  // IDs
	nanos    atomic.Int64  // all requests took
	buckets  [len(bounds)]atomic.Uint64
}

// observe counts a request.
func (u *keyUsage) observe(took time.Duration) {
	u.requests.Add(1)
	u.nanos.Add(int64(took))
	for i := range bounds {
		if took.Seconds() <= bounds[i] {
			u.buckets[i].Add(1)
			return
		}
	}
}

// report counts the call, and ends its span.
func (c *call) report() {
	c.endSpan()
	if c.entry == nil {
		return
	}
	c.entry.usage.observe(time.Since(c.begun))
	c.entry.touch(c.begun)
}
