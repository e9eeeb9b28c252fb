// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"
)

// errUnknown says that a request may have been done.
var errUnknown = errors.New("sim: the store does not answer")

// giveUp is how long a process waits for the store or for another process.
const giveUp = 1500 * time.Millisecond

// latency returns how long something travels.
func (w *world) latency(d dice) time.Duration {
	switch {
	case w.closed || w.calm:
		return d.between(0, 5*time.Millisecond)
	case w.slow > 0 && d.chance(0.3):
		return d.between(0, 5*time.Second)
	case d.chance(0.02):
		return d.between(0, time.Second)
	}
	return d.between(0, 20*time.Millisecond)
}

// reachesStore reports whether a process reaches the store now.
func (w *world) reachesStore(m *machine) bool { return m.isolated == 0 && w.recovering == 0 }

// losesReply reports whether a reply is lost.
func (w *world) losesReply(d dice) bool {
	return !w.calm && (w.lossy > 0 && d.chance(0.3) || d.chance(0.005))
}
