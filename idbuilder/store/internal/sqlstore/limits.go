// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"errors"
	"fmt"
	"time"
)

// Limits are what the options of all stores have in common. 0 stands for the default
// value.
type Limits struct {
	Connections int           // of this process to the server; 10 by default
	Connect     time.Duration // for how long an attempt to connect may take; 5 s by default
	Call        time.Duration // for how long a call may take; 10 s by default
	Init        time.Duration // for how long Init may take, with the time that it waits for others; 1 min by default
}

// WithDefaults returns the limits with the default values in place of zeros.
func (l Limits) WithDefaults() Limits {
	if l.Connections == 0 {
		l.Connections = 10
	}
	if l.Connect == 0 {
		l.Connect = 5 * time.Second
	}
	if l.Call == 0 {
		l.Call = 10 * time.Second
	}
	if l.Init == 0 {
		l.Init = time.Minute
	}
	return l
}

// Validate reports all limits that are out of range, by the names of the options of
// a package.
func (l Limits) Validate(pkg string) error {
	var faults []error
	if l.Connections < 0 || l.Connections > 10_000 {
		faults = append(faults, fmt.Errorf("%s: MaxConnections is %d, allowed are 1 to 10000, and 0 for 10", pkg, l.Connections))
	}
	for _, timeout := range []struct {
		name  string
		value time.Duration
	}{{"ConnectTimeout", l.Connect}, {"CallTimeout", l.Call}, {"InitTimeout", l.Init}} {
		if timeout.value < 0 {
			faults = append(faults, fmt.Errorf("%s: %s is %v, allowed are positive durations, and 0 for the default value", pkg, timeout.name, timeout.value))
		}
	}
	return errors.Join(faults...)
}
