// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
// A clock that is slow is followed: the bounds of the blocks keep leases apart
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

// times are what the store knows of the clocks that a service is leased by, and
// of the lengths of its leases. They change a few times in the life of a lease,
// not with each of them, so that acquisitions seldom conflict here.
type times struct {
	// Latest is the highest time by which leases were granted that is believed.
	// It is a witness for clocks that went ahead; see clock. While leases are
	// granted, it lags by a quarter of a lease at most.
	Latest int64 `json:"latest"`
	// Claim is a time far ahead of Latest by which leases were granted: no leases
	// were granted for a while, or the clock of that server is wrong.
	Claim *claim `json:"claim,omitempty"`

	// Lengths are those of the leases that may be in force or be continued, the
	// longest first. A length is left out if a longer one has the same Until or a
	// later one, since it says nothing more.
	Lengths []length `json:"lengths"`
}

// length says that leases may last as long as Ms until the time Until.
type length struct {
	Ms    int64 `json:"ms"`
	Until int64 `json:"until"`
}

// maxLengths bounds times.Lengths. A service is hardly configured anew as often
// within a few leases.
const maxLengths = 4

// claim is a time that one server goes by.
type claim struct {
	At int64  `json:"at"`
	By string `json:"by"` // Server.id
}

func (t *times) validate() error {
	if t.Latest < 0 || t.Claim != nil && (t.Claim.At < 0 || t.Claim.By == "") {
		return errors.New("it has a time before 1970, or a claim without a server")
	}
	for _, l := range t.Lengths {
		if l.Ms <= 0 || l.Until < 0 {
			return fmt.Errorf("it has leases of %d ms until %d", l.Ms, l.Until)
		}
	}
	return nil
}

// longestLease returns the length of the longest lease that may be in force or be
// continued; 0 if none is known.
func (t *times) longestLease() int64 {
	if len(t.Lengths) == 0 {
		return 0
	}
	return t.Lengths[0].Ms
}

// inheritLengths adds the lengths that were known before a loss.
func (t *times) inheritLengths(before times) {
	for _, l := range before.Lengths {
		t.addLength(l)
	}
}

// noteGrant notes that a server grants leases of a length at now. It reports
// whether anything has changed.
func (t *times) noteGrant(server string, now, ms int64) bool {
	witnessed := t.noteTime(server, now)
	return t.noteLength(now, ms) || witnessed
}

// noteTime takes the time of a server into account. One that is far ahead of
// Latest is a claim. It is believed when a second server agrees with it, or when
// it has lasted for longer than a lease, and no server has granted a lease by an
// earlier time since the claim.
func (t *times) noteTime(server string, now int64) bool {
	near := max(t.longestLease(), 1)
	c := t.Claim
	agrees := c != nil && now >= c.At-near && now <= c.At+near
	lasted := c != nil && c.By == server && now > c.At+near
	switch {
	case t.Latest == 0:
		t.Latest = now // nothing contradicts
	case now <= t.Latest+near: // this contradicts a claim
		if c == nil && now <= t.Latest+near/4 {
			return false
		}
		t.Latest, t.Claim = max(t.Latest, now), nil
	case agrees && c.By != server, lasted:
		t.Latest, t.Claim = now, nil
	case agrees:
		return false
	default:
		t.Claim = &claim{At: now, By: server}
	}
	return true
}

// noteLength takes the length of a lease into account that begins at now, or up to
// lead later, and may be continued for as long.
func (t *times) noteLength(now, ms int64) bool {
	until := now + lead + 2*ms
	if slices.ContainsFunc(t.Lengths, func(l length) bool { return l.Ms >= ms && l.Until >= until }) {
		return false
	}
	t.Lengths = slices.DeleteFunc(slices.Clone(t.Lengths), func(l length) bool { return l.Until < t.Latest })
	t.addLength(length{ms, until + ms}) // longer than needed, so that it changes once in a lease
	return true
}

// addLength adds a length, and drops those that it makes needless.
func (t *times) addLength(add length) {
	all := append(slices.Clone(t.Lengths), add)
	slices.SortFunc(all, func(a, b length) int { return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(b.Until, a.Until)) })
	t.Lengths = all[:0]
	for _, l := range all {
		switch n := len(t.Lengths); {
		case n > 0 && l.Until <= t.Lengths[n-1].Until:
		case n == maxLengths:
			t.Lengths[n-1].Until = l.Until // as if they were as long as the one before
		default:
			t.Lengths = append(t.Lengths, l)
		}
	}
}
