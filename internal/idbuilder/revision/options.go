// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"
	"time"
)

// Options configure a Watch. All processes of a store use the same options: a
// process whose Validity is longer may use what it read for longer than the
// Announce of another process waits.
type Options struct {
	// Validity is how long a revision may be used after a poll, and how long Announce
	// takes. An answer of the store that takes longer counts as none.
	// The default value is a second; allowed are 10 ms to a minute.
	Validity time.Duration
	// Margin is added to the wait of Announce, for clocks that run at different rates.
	// The default value is a hundredth of Validity; allowed are 0 to a minute.
	Margin time.Duration
	// Outage is for how long [Watch.Last] goes on with the last revision while the store does
	// not answer, counted from the end of its validity. The default value is 5 minutes; allowed
	// are up to a day; negative: not at all.
	Outage time.Duration
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	if o.Validity != 0 && (o.Validity < 10*time.Millisecond || o.Validity > time.Minute) {
		faults = append(faults, fmt.Errorf("revision: Validity is %v, allowed are 10ms to 1m", o.Validity))
	}
	if o.Margin < 0 || o.Margin > time.Minute {
		faults = append(faults, fmt.Errorf("revision: Margin is %v, allowed are 0 to 1m", o.Margin))
	}
	if o.Outage > 24*time.Hour {
		faults = append(faults, fmt.Errorf("revision: Outage is %v, allowed are up to 24h", o.Outage))
	}
	return errors.Join(faults...)
}

// AnnounceTime returns how long an Announce waits after the store has answered.
func (o Options) AnnounceTime() time.Duration {
	o = o.withDefaults()
	return o.Validity + o.Margin
}

func (o Options) withDefaults() Options {
	if o.Validity == 0 {
		o.Validity = time.Second
	}
	if o.Margin == 0 {
		o.Margin = o.Validity / 100
	}
	if o.Outage == 0 {
		o.Outage = 5 * time.Minute
	}
	return o
}
