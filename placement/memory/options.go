// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The default values of [Options].
const (
	DefaultTTL         = 30 * time.Second
	DefaultMaxSnapshot = 1 << 20
)

// Options configure a [Home]. The zero value is ready to use.
type Options struct {
	// TTL is how long a lock lasts after its claim; it is not renewed. It should be
	// longer than a coordinator's RequestTimeout. The default value is DefaultTTL,
	// 30 s. It must be zero with Kept.
	TTL time.Duration
	// Kept makes the claim the activation, which lasts as long as its owner lives.
	Kept bool
	// MaxSnapshot is how many bytes the snapshot of a record has at most. The
	// default value is DefaultMaxSnapshot, 1 MiB.
	MaxSnapshot int
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.TTL < 0 {
		faults = append(faults, fmt.Errorf("memory: TTL is %v, must not be negative", o.TTL))
	}
	if o.Kept && o.TTL != 0 {
		faults = append(faults, fmt.Errorf("memory: TTL is %v, but with Kept a claim lasts as long as its owner lives", o.TTL))
	}
	if o.MaxSnapshot < 0 {
		faults = append(faults, fmt.Errorf("memory: MaxSnapshot is %d, must not be negative", o.MaxSnapshot))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	o.MaxSnapshot = cmp.Or(o.MaxSnapshot, DefaultMaxSnapshot)
	if !o.Kept {
		o.TTL = cmp.Or(o.TTL, DefaultTTL)
	}
	return o
}
