// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/uptime"
)

// clock checks the times that the store's clock says. Where that clock is the
// one of this process, an operator or a time server may set it to another year
// while the process runs. A lease of that year would confirm the wrong time to
// the client that asked, which then makes IDs of that year, and can make none
// for a year once the clock is right again.
//
// Two witnesses can tell that a clock which went ahead is right: the time that
// has passed since it was right by the monotonic clock, and the time by which
// others lease, which is in the service's record. A time that lies ahead of
// both by more than the longest lease is not believed: leases then begin by the
// monotonic clock. A clock that is behind is followed: the bounds of the blocks
// keep leases apart all the same. A clock that was before the custom epoch, as that
// of a machine without a battery is until it is set, is followed to any time: no
// lease could begin by it.
type clock struct {
	monotonic func() time.Duration // nil: this process's
	passed    uptime.Clock
	log       *slog.Logger

	mu     sync.Mutex
	known  bool
	offset int64 // the highest time believed, less the monotonic time then, in milliseconds
	jumped bool  // the last time was not believed
}

func newClock(o Options) *clock {
	now := time.Now()
	return &clock{monotonic: o.Monotonic, passed: uptime.New(), log: o.Logger, known: o.Monotonic == nil, offset: now.UnixMilli()}
}

// resolveTime returns the time to grant leases by, in Unix milliseconds, when the
// store says t. first is the first time that the layout can express, latest the time by which
// leases were granted last, as the store knows it, and tolerance by how much t may
// lie ahead of both witnesses.
func (c *clock) resolveTime(t time.Time, first, latest, tolerance int64) int64 {
	said := t.UnixMilli()
	if c.monotonic == nil && t == t.Round(0) { //nolint:staticcheck // whether it has a monotonic reading
		return said // the clock of another machine, or a made-up one: nothing here can check it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.elapsed(t).Milliseconds()
	if !c.known {
		c.known, c.offset = true, said-passed
	}
	steady := c.offset + passed
	jumped := steady >= first && said > max(steady, latest)+tolerance
	if jumped != c.jumped {
		c.jumped = jumped
		c.logJump(jumped, said-steady)
	}
	if jumped {
		return steady
	}
	c.offset = max(c.offset, said-passed)
	return said
}

// elapsed returns the monotonic time of t.
func (c *clock) elapsed(t time.Time) time.Duration {
	if c.monotonic != nil {
		return c.monotonic()
	}
	return c.passed.Elapsed(t)
}

// logJump tells the operator when a jump begins and ends.
func (c *clock) logJump(jumped bool, ahead int64) {
	by := time.Duration(ahead) * time.Millisecond
	if !jumped {
		c.log.Info("lease: the clock is believed again", "ahead", by)
		return
	}
	c.log.Warn("lease: the clock jumped ahead and is not believed: leases begin by the monotonic clock. If the clock is right, let another process lease from the same store, or restart this one; if not, set it right",
		"ahead", by)
}
