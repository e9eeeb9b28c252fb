// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "math/rand/v2"

// Timing is a [Config] that is valid and has its defaults. Any number of machines
// share one. It is immutable. Its zero value is not usable; see [Config.Timing].
type Timing struct{ config Config }

// Config returns the Config with its defaults.
func (t *Timing) Config() Config { return t.config }

// Machine returns a machine without a role, none of whose timers runs. It draws
// its election timeouts from the source; nil is a source that is seeded at
// random. The caller must not use the source elsewhere at the same time.
func (t *Timing) Machine(source rand.Source) Machine {
	if source == nil {
		source = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	return Machine{config: &t.config, random: *rand.New(source)}
}
