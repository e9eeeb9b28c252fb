// SPDX-License-Identifier: Apache-2.0

package client

import "sync/atomic"

// Metrics are what a [Client] has counted since it was made.
type Metrics struct {
	Requests  int64 // tries that were sent
	Failures  int64 // tries that failed, or were refused
	Failovers int64 // changes to another URL
	Fetched   int64 // IDs that were fetched
	Discarded int64 // of those, left out because they came before those given already
	Waits     int64 // calls for an ID that had to wait for the service
	Leases    int64 // leases of worker ids, with renewals
}

type counters struct{ requests, failures, failovers, fetched, discarded, waits, leases atomic.Int64 }

// Metrics returns what was counted.
func (c *Client) Metrics() Metrics {
	n := &c.count
	return Metrics{
		Requests: n.requests.Load(), Failures: n.failures.Load(), Failovers: n.failovers.Load(), Fetched: n.fetched.Load(),
		Discarded: n.discarded.Load(), Waits: n.waits.Load(), Leases: n.leases.Load(),
	}
}
