// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/kazahana-db/kazahana/placement"
)

// effects are the actions of an outcome, which the driver takes after it has unlocked its
// mutex.
type effects struct {
	commands []placement.Command
	answers  []answer
	events   bool // a goroutine is to deliver events
	cached   bool // … and events of the cache
}

// answer is the answer to one resolve.
type answer struct {
	done       func(placement.Resolution, error)
	resolution placement.Resolution
	err        error
}

func (e effects) mergedWith(more effects) effects {
	return effects{
		commands: append(e.commands, more.commands...), answers: append(e.answers, more.answers...),
		events: e.events || more.events, cached: e.cached || more.cached,
	}
}
