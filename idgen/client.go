// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// Client generates IDs, as the kazahana specification's client does.
//
// # Managed mode
//
// With a [LeaseProvider] IDs are made under leases: positions of each
// millisecond, until a time, that no other client may use. They are unique in
// the service whatever the clocks of its machines say. The first Next, or
// [Client.Ready], makes the client acquire a lease and waits for it; from then
// on a goroutine acquires new leases when half of the life of the present ones
// is over, and more of them when the IDs of a millisecond were used up. No call
// talks to the provider itself. Call [Client.Shutdown] to end the goroutine and
// give the leases back.
//
// # Fallback
//
// Without a valid lease, because the provider cannot be reached, the client
// makes fallback IDs, unless [Options.DisableFallback] forbids it. For as long
// as the last lease lasted they are made in its positions with the fallback bit
// set, and are unique: a provider lets the next holder of the positions do the
// same only afterwards. Then, and for clients that never had a lease, they are
// random.
//
// # Standalone mode and random fallback IDs
//
// Without a provider every ID is a random fallback ID. The machine and sequence
// bits are one number, of which standalone mode uses N = 2^21 in the default
// layout, and a managed client the N = 2^19 that are never continued from a
// lease. In each millisecond the number starts at a random value and goes up by
// one, so that the IDs of a Client strictly increase and never repeat. Two
// Clients that both make k IDs in the same millisecond share one of them with
// probability
//
//	((2k-1)·N - k·(k-1)) / N², about (2k-1)/N
//
// and expect k²/N equal IDs. Ten standalone Clients that each make 100 IDs a
// second expect 19 equal pairs a day, a hundred that each make 1000 expect
// 204,000: standalone mode is for development, for one process, and where a
// second record under an ID is refused on creation. docs/operations.md of the
// repository has a table.
//
// # Clocks
//
// A clock that was set back is waited for, see [Options.MaxBackward]. A clock
// that is suddenly more than five seconds ahead of the monotonic one was set
// forward, or the machine slept, or it is a copy of another one. The client
// then abandons its leases, acquires others before it makes a further ID, and
// goes on by the monotonic clock until a lease shows that the clock is right:
// one that begins closer to the clock's time than to the monotonic one. Where
// none can be had, it waits until the jump has lasted for as long as it is far,
// less what the machine slept, and ten seconds at least. See also
// [Client.AfterRestore].
//
// All methods are safe for concurrent use. Next and NextN take no lock and do
// not allocate, but once in a while at the beginning of a millisecond. An ID
// that a call returned is less than the ID of every call that began later, even
// when leases change, when fallback begins or ends, and when the clock is set; for
// the one exception see [Options.Layout].
type Client struct {
	era   atomic.Pointer[era] // written under mu, seldom
	clock clock               // begins with what is read for each ID
	opts  Options

	tallies       [modes]atomic.Int64 // IDs made in the milliseconds that were left, by mode
	peak          atomic.Int64        // most numbers of a leased millisecond that were used, lately
	exhausted     atomic.Int64
	clockBackward atomic.Int64
	setBack       atomic.Bool // the clock was found set back, and has not caught up

	random func() uint64
	forget func() // see Options.Observe

	mu       sync.Mutex
	events   []event // to log once mu is free
	layout   Layout
	pinned   bool // the layout was given, so no lease can decide it
	leases   leaseSet
	keeper   keeper
	counts   Metrics
	reported Metrics
	logged   mode // the last one that a log knows of
}

// NewClient returns a generator. With a provider it acquires the first lease
// when the first ID is asked for; see [Client.Ready]. The error reports all
// faults of the options; see [Options.Validate].
func NewClient(opts Options) (*Client, error) {
	return newClient(opts, randomUint64)
}

func newClient(opts Options, random func() uint64) (*Client, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("idgen: new client: %w", err)
	}
	pinned := opts.Layout != (Layout{})
	opts = opts.withDefaults()
	c := &Client{opts: opts, random: random, layout: opts.Layout, pinned: pinned}
	c.clock.init(opts)
	c.keeper.init(opts)
	c.beginEra(c.initialEra(), 0)
	if opts.Observe != nil {
		c.forget = opts.Observe(c.Metrics)
	}
	return c, nil
}

// Layout returns the layout of the IDs that the client makes. Until the first
// lease is there, that is [Options.Layout] or the default. Leases may divide
// machine id and sequence otherwise, by [Lease.SequenceBits].
func (c *Client) Layout() Layout { return c.era.Load().layout }

// Next returns a new ID.
//
// It waits when all IDs of the current millisecond are used up, when the clock
// was set back (see [Options.MaxBackward]), for the first lease, for the first
// one after a jump of the clock, and up to five seconds for a lease that begins
// in the future because this machine's clock is late. Only while it waits does
// it look at ctx. If ctx ends while it waits for a lease, it makes a fallback
// ID unless that is disabled, or ctx had ended before the call, or
// [Options.FallbackAfterFailure] asks for a failure first.
//
// Errors are a [*ClockBackwardError], [ErrBeforeCustomEpoch], [ErrTimeOverflow], an
// [ErrLeaseAcquisition] if fallback is disabled, [ErrClosed], or the cause of
// ctx's end.
func (c *Client) Next(ctx context.Context) (ID, error) {
	if id, ok := c.nextNow(); ok {
		return id, nil
	}
	e, first, _, err := c.takeSlow(ctx, 1)
	if err != nil {
		return 0, err
	}
	return e.id(first), nil
}

// NextN fills ids with new IDs in ascending order and returns how many it
// made: all, unless it returns an error. The IDs need not be consecutive. It
// costs much less per ID than [Client.Next], and waits and fails like it.
func (c *Client) NextN(ctx context.Context, ids []ID) (int, error) {
	done := 0
	for done < len(ids) {
		want := uint64(min(len(ids)-done, maxTake))
		e := c.era.Load()
		ts := uint64(c.clock.currentMs() - e.epoch)
		first, got := e.takeRange(ts, ts, want)
		if got == 0 {
			var err error
			if e, first, got, err = c.takeSlow(ctx, want); err != nil {
				return done, err
			}
		}
		e.ids(ids[done:done+int(got)], first)
		done += int(got)
	}
	return done, nil
}

// nextNow returns an ID if the cursor is in the current millisecond.
func (c *Client) nextNow() (ID, bool) {
	e := c.era.Load()
	word, ok := e.tryNext(uint64(c.clock.currentMs() - e.epoch))
	if !ok {
		return 0, false
	}
	return e.id(word), true
}

// Ready waits until there is a lease, so that a program can fail early and its
// first ID waits for nothing. If the last try failed it returns why, even if
// fallback is possible; else [ErrClosed], or the cause of ctx's end. In
// standalone mode it returns nil.
func (c *Client) Ready(ctx context.Context) error {
	for {
		c.lock()
		c.renewEnded(c.clock.read().ms)
		settled, isClosed := c.startKeeper(), c.era.Load().mode == closed
		err, ok := c.lackCause(), c.opts.Provider == nil || c.hasLease()
		c.unlock()
		switch {
		case isClosed:
			return ErrClosed
		case ok:
			return nil
		case settled == nil:
			return fmt.Errorf("idgen: no lease: %w", err)
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("idgen: gave up waiting for a lease: %w", context.Cause(ctx))
		}
	}
}

// hasLease reports whether there is a lease to use now or soon.
func (c *Client) hasLease() bool {
	return c.leases.lastingThroughput(time.Now()) > 0 || c.leases.choose(c.clock.read().ms, c.layout).mode == leased
}

// Metrics returns what the client counts. It is quick.
func (c *Client) Metrics() Metrics {
	c.lock()
	defer c.unlock()
	m, e := c.counts, c.era.Load()
	m.ServiceID = c.opts.ServiceID
	m.Exhausted, m.ClockBackward = c.exhausted.Load(), c.clockBackward.Load()
	if e.makesIDs() {
		m.Throughput = int(e.span)
	}
	if e.mode == leased {
		m.ActiveLeases = len(e.leases)
	}
	m.LeasedThroughput = c.leases.leasedThroughput(c.clock.read().ms)
	var made [modes]int64
	for mode := range c.tallies {
		made[mode] = c.tallies[mode].Load()
	}
	made[e.mode] += e.openCount()
	// While callers make IDs a count may be a little low, but never lower than
	// the one reported before.
	m.LeasedIDs = max(made[leased], c.reported.LeasedIDs)
	m.CachedFallbackIDs = max(made[continued], c.reported.CachedFallbackIDs)
	m.RandomFallbackIDs = max(made[random], c.reported.RandomFallbackIDs)
	c.reported = m
	return m
}

// event is a log record.
type event struct {
	level slog.Level
	text  string
	args  []any
}

func (c *Client) lock() { c.mu.Lock() }

// logLater logs an event after mu is unlocked: a logger may do anything, even
// ask for an ID. The caller holds mu.
func (c *Client) logLater(level slog.Level, text string, args ...any) {
	c.events = append(c.events, event{level, text, args})
}

// unlock unlocks mu and logs the events.
func (c *Client) unlock() {
	events := c.events
	c.events = nil
	c.mu.Unlock()
	for _, e := range events {
		c.opts.Logger.Log(context.Background(), e.level, e.text, append(e.args, "service", c.opts.ServiceID)...)
	}
}

// randomUint64 asks the operating system: copies of a virtual machine would
// continue a generator inside the process with the same numbers.
func randomUint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return binary.LittleEndian.Uint64(b[:])
}

// ErrClosed is returned by a [Client] that was shut down.
var ErrClosed = errors.New("idgen: the client was shut down")

// ErrNoProvider says that a [Client] has no provider to lease from and
// fallback is disabled, so that it could never make an ID.
var ErrNoProvider = errors.New("idgen: no provider configured and fallback is disabled; set Options.Provider or leave DisableFallback false")

// maxLeaseWait is how long Next waits for a lease that is there but begins
// later, because this machine's clock lags the provider's.
const maxLeaseWait = 5 * time.Second

// takeSlow gets an ID where nextNow cannot: it moves the cursor to a new
// millisecond, waits for one when the current one is used up, changes eras, and
// handles wrong clocks.
//
// The word is read before the clock. So a clock that shows an earlier time than the
// word was set back: a goroutine that moves the word later does not change what was read.
func (c *Client) takeSlow(ctx context.Context, want uint64) (e *era, first, got uint64, err error) {
	wait := waitState{ctx: ctx, ended: ctx.Err() != nil}
	for {
		e = c.era.Load()
		word := e.word.Load()
		if e.replaced.Load() && e.mode != closed {
			runtime.Gosched() // the next era is there at once
			continue
		}
		r := c.clock.read()
		if r.isAhead() {
			r = c.handleJump()
		}
		if first, got, err = c.takeStep(e, word, r, want, &wait); err != nil || got > 0 {
			return e, first, got, err
		}
	}
}

// takeStep acts on one reading of the cursor and the clock. It returns no
// positions if it had to wait.
func (c *Client) takeStep(e *era, word uint64, r clockSample, want uint64, wait *waitState) (first, got uint64, err error) {
	ts, last := r.ms-e.epoch, int64(word>>e.shift)
	if e.mode != closed && last > 0 && ts < last { // even if the clock is before the epoch now
		return 0, 0, c.waitForClock(e, word, last-ts, wait)
	}
	if e.makesIDs() {
		if err := e.layout.check(ts); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case !e.covers(r.ms):
		return 0, 0, c.advanceEra(e, r, wait)
	case ts > last:
		if first, got = e.enterMs(word, uint64(ts), want); got > 0 {
			c.noteEntered(e, word, r)
		}
		return first, got, nil
	case e.remaining(word) > 0:
		first, got = e.takeRange(uint64(ts), math.MaxUint64, want)
		return first, got, nil
	default:
		return 0, 0, c.yieldFull(e, word, wait)
	}
}

// noteEntered is called after the caller has moved the cursor from word to a
// new millisecond.
func (c *Client) noteEntered(e *era, word uint64, r clockSample) {
	if !r.isAhead() {
		c.clock.trust(r)
	}
	if c.setBack.Load() {
		c.setBack.Store(false)
	}
	if e.mode == leased {
		raise(&c.peak, int64(e.countOf(word)))
	}
}

// raise sets v to n if n is greater.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// waitForClock waits a while for a clock that was set back by lag milliseconds.
func (c *Client) waitForClock(e *era, word uint64, lag int64, wait *waitState) error {
	e.trimOvershoot(word)
	if c.setBack.CompareAndSwap(false, true) {
		c.clockBackward.Add(1)
		c.opts.Logger.Warn("idgen: the clock was set back", "service", c.opts.ServiceID, "ms", lag)
	}
	pause, err := c.clock.waitFor(wait.ctx, lag, wait.slept)
	wait.slept += pause
	return err
}

// maxYields is how often a caller yields for a used-up millisecond before it
// sleeps: with the reading of the clock that takes longer than a millisecond.
const maxYields = 10_000

// yieldFull waits a little because the millisecond of word is used up. It
// yields instead of sleeping: the shortest sleep of most systems is longer than
// the rest of a millisecond. If the clock stands still, as it does in a bubble
// of [testing/synctest] until all its goroutines wait, it sleeps.
func (c *Client) yieldFull(e *era, word uint64, wait *waitState) error {
	e.trimOvershoot(word)
	if e.full.markFull(word >> e.shift) {
		c.exhausted.Add(1)
		c.raiseDemand(e)
	}
	if wait.ctx.Err() != nil {
		return fmt.Errorf("idgen: gave up waiting for the next millisecond: %w", context.Cause(wait.ctx))
	}
	if wait.yields++; wait.yields <= maxYields {
		runtime.Gosched()
		return nil
	}
	wait.yields = 0
	_ = sleep.For(wait.ctx, time.Millisecond) // the next step notices the end of ctx
	return nil
}

// waitState is how long one call has waited.
type waitState struct {
	ctx    context.Context
	ended  bool          // ctx had ended before the call began to wait
	slept  time.Duration // for clocks and leases
	yields int           // since the last sleep, because a millisecond was used up
}
