// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"time"
)

// election is the timer of the election timeout. A contact moves its base and
// leaves the roll: only an arming draws anew. (etcd's issue 4887 shows what
// drawing more often costs: shorter timeouts and more split votes.)
type election struct {
	generation uint64        // of starts, stops and contacts of both timers, at the latest of this one
	base       time.Duration // of the timeout: the arming, or the latest contact
	roll       time.Duration // uniform between the bounds of the Config
	timeout    time.Duration // the roll, stretched by back-off and adaptation
}

func (e *election) deadline() time.Duration { return e.base + e.timeout }
