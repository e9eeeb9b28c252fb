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
// others lease, which is in the service's record. A time that lies ahead of the
// first by more than maxForward, and is not that of others, is not believed:
// leases then begin by the monotonic clock, until the jump has lasted for as long
// as it is far. So setting a clock right that was wrong costs no more time than it
// was wrong, be it by minutes or by a year.
//
// A clock that is behind is followed: the bounds of the blocks keep leases apart
// all the same. A clock that was before the custom epoch, as that of a machine
// without a battery is until it is set, is followed to any time: no lease could
// begin by it.
type clock struct {
	monotonic func() time.Duration // nil: this process's
	passed    uptime.Clock
	log       *slog.Logger

	mu     sync.Mutex
	known  bool
	offset int64 // the highest time believed, less the monotonic time then, in milliseconds
	jumped bool  // the last time was not believed
	ahead  int64 // by how much it was ahead
	since  int64 // when the jump was noticed, by the monotonic clock
}

// maxForward is by how many milliseconds the clock may run ahead of the monotonic
// one before that is a jump, as in [idgen.Client].
const maxForward = 5000

func newClock(o Options) *clock {
	now := time.Now()
	return &clock{monotonic: o.Monotonic, passed: uptime.New(), log: o.Logger, known: o.Monotonic == nil, offset: now.UnixMilli()}
}

// resolveTime returns the time to grant leases of a service by, in Unix
// milliseconds, when the store says t. latest is the time by which leases were
// granted last, as the store knows it, and longest how long they may be.
func (c *clock) resolveTime(t time.Time, config ServiceConfig, latest, longest int64) int64 {
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
	alone, tolerance := config.jumpTolerance(longest)
	shared := latest > steady+alone && said <= latest+tolerance // others lease by that time
	jumped := steady >= config.Layout.First().UnixMilli() && said > steady+alone && !shared &&
		(config.Plain || !c.hasLasted(said-steady, passed))
	if jumped != c.jumped {
		c.jumped = jumped
		c.logJump(jumped, said-steady)
	}
	if jumped {
		return steady
	}
	c.offset, c.ahead = max(c.offset, said-passed), 0
	return said
}

// hasLasted reports whether a jump that is ahead milliseconds far was noticed as
// long ago. A jump that is further or less far than when last looked at is another
// one.
func (c *clock) hasLasted(ahead, passed int64) bool {
	if change := ahead - c.ahead; max(change, -change) > maxForward || c.ahead == 0 {
		c.since = passed
	}
	c.ahead = ahead
	return passed-c.since >= ahead
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
	c.log.Warn("lease: the clock jumped ahead and is not believed: leases begin by the monotonic clock. If the clock is right, nothing else is needed: it is believed once another process leases by it, or once it was ahead for as long as it is now; if not, set it right",
		"ahead", by)
}
