// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// DefaultDuration is how long a lease lasts without renewal unless
// [Claim.Duration] says otherwise.
const DefaultDuration = 15 * time.Second

// Claim asks for a lease. The zero value is ready to use.
type Claim struct {
	// Holder names the holder of the lease to people and tools. The default
	// value names the host and the process.
	Holder string
	// Duration is how long the lease lasts without renewal, at least a
	// millisecond: how long others must wait after the holder has died. It is
	// renewed about three times as often. The default value is DefaultDuration.
	Duration time.Duration
	// RequestID makes the claim idempotent: a claim that finds its own request
	// granted gets that grant again, also where the reply to it was lost. Claims
	// with the same RequestID are the same claim, so make it anew for each. In a
	// transaction of the caller's it must be set, before the first attempt. The
	// default value is random.
	RequestID string
	// Seen allows to take over the lease that was observed, if it has lapsed
	// and has not been renewed since. The default value takes nothing over.
	Seen Observation
}

// Validate reports all faults of the claim, joined.
func (c Claim) Validate() error {
	c = c.withDefaults()
	faults := []error{checkText("holder", c.Holder), checkText("request id", c.RequestID)}
	if c.Duration < time.Millisecond {
		faults = append(faults, fmt.Errorf("leasefdb: a lease of %v is too short; at least a millisecond is possible", c.Duration))
	}
	return errors.Join(faults...)
}

func (c Claim) withDefaults() Claim {
	if c.Holder == "" {
		c.Holder = defaultHolder
	}
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	if c.RequestID == "" {
		c.RequestID = newRequestID()
	}
	return c
}

var defaultHolder = func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}()
