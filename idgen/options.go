// SPDX-License-Identifier: Apache-2.0

package idgen

import "time"

// DefaultMaxBackward is how far the clock may be set back before a [Client]
// refuses to wait for it, unless [Options.MaxBackward] says otherwise.
const DefaultMaxBackward = 5 * time.Second

// Options configures a [Client]. The zero value is a standalone generator with
// the default layout.
type Options struct {
	// Layout says where the parts of an ID are. Its timestamp is what a
	// process must agree on with all others that make IDs for the same data.
	// The default, used for the zero Layout, is [DefaultLayout].
	Layout Layout

	// MaxBackward decides what happens when the clock is set back behind the
	// last timestamp used:
	//   - positive: wait for the clock if it is behind by no more than this
	//     (in whole milliseconds), otherwise return a [*ClockBackwardError];
	//   - zero, new(time.Duration(0)): return the error at once, for strict
	//     timekeeping;
	//   - negative: wait however long it takes, for machines whose clock jumps;
	//     only ctx ends the wait.
	//
	// The default, used for nil, is [DefaultMaxBackward].
	MaxBackward *time.Duration

	// Now reads the clock. It must be safe for concurrent use and must not
	// block. The default, used for nil, is [time.Now].
	Now func() time.Time
}

// Validate reports everything that is wrong with the options, joined by
// [errors.Join].
func (o Options) Validate() error { return o.withDefaults().Layout.Validate() }

func (o Options) withDefaults() Options {
	if o.Layout == (Layout{}) {
		o.Layout = DefaultLayout()
	}
	if o.MaxBackward == nil {
		o.MaxBackward = new(DefaultMaxBackward)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
