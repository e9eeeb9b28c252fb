// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strconv"
	"time"
)

// The defaults of [Options]. All but DefaultMaxThroughput are those of the
// kazahana specification, section 13.
const (
	// DefaultMaxBackward is how far the clock may be set back before a [Client]
	// refuses to wait for it.
	DefaultMaxBackward = 5 * time.Second

	// DefaultMaxThroughput is how many IDs of a millisecond a [Client]
	// leases at most: four million a second. The specification's 256 would make
	// a tight loop wait most of the time; since a Client begins with 256 and
	// asks for more only once it needed more, the higher limit costs nothing.
	DefaultMaxThroughput = 4096

	// DefaultAcquireRetryInterval is how long a [Client] waits after the first
	// failure to acquire a lease.
	DefaultAcquireRetryInterval = time.Second

	// DefaultAcquireRetryMaxInterval is how long it waits at most.
	DefaultAcquireRetryMaxInterval = time.Minute
)

// Options configures a [Client]. The zero value is a standalone generator with
// the default layout; with a Provider it is a managed one with fallback.
type Options struct {
	// Provider grants the leases that IDs are made under. The default, nil, is
	// standalone mode.
	Provider LeaseProvider

	// ServiceID is the namespace in which IDs are unique: clients of one
	// service share its machine ids, clients of different services may make
	// equal IDs. The default, "", is the provider's default service.
	ServiceID string

	// Meta describes the client in listings of leases. The default, used for
	// nil, is {"host": …, "pid": …}.
	Meta map[string]string

	// MaxThroughput is how many IDs of one millisecond the client leases
	// at most; callers that want more wait for the next one. It leases 256, or
	// this if it is less, and whenever a millisecond was used up four times as
	// many; when it renews its leases, what it needed lately. The default, used
	// for 0, is [DefaultMaxThroughput].
	MaxThroughput int

	// SpreadSequence begins each millisecond at a random position in the lower
	// half of those leased, instead of at the first. Without it a client that
	// makes few IDs gives nearly all of them the sequence 0: a program that
	// shards by id modulo a power of two then has one busy shard. It costs a
	// quarter of the IDs of a full millisecond on average, and nothing else:
	// IDs stay unique and ascending. The default is false, which wastes
	// nothing.
	SpreadSequence bool

	// DisableFallback makes the client strict: without a valid lease it
	// returns an [ErrLeaseAcquisition] rather than a fallback ID.
	DisableFallback bool

	// FallbackAfterFailure keeps random fallback IDs for a provider that has failed to
	// grant a lease. Where a caller's context ends while the provider is still being
	// asked, the caller gets an error, not a fallback ID. A call that has not returned when it
	// should have given up has failed, too. The default is false: such a
	// caller gets a fallback ID.
	FallbackAfterFailure bool

	// AcquireRetryInterval is how long the client waits before it tries to
	// acquire a lease again after a failure; each further failure doubles it up
	// to AcquireRetryMaxInterval. A random part of up to half is taken off, so
	// that clients that failed together do not come back together. The
	// defaults, used for 0, are [DefaultAcquireRetryInterval] and
	// [DefaultAcquireRetryMaxInterval].
	AcquireRetryInterval    time.Duration
	AcquireRetryMaxInterval time.Duration

	// Layout says where the parts of an ID are. Its epoch and its reserve and
	// timestamp bits are what a process must agree on with all others that make
	// IDs for the same data. The default, used for the zero Layout, is that of
	// the first lease, and [DefaultLayout] in standalone mode and for fallback
	// IDs made before there was a lease. A lease that contradicts the given
	// layout, or that of the first lease, is refused with an [ErrCustomEpochMismatch].
	//
	// Set it where the service's layout is not the default and fallback is not
	// disabled. Otherwise the fallback IDs of a client that starts in an outage do
	// not sort among the service's IDs and may be equal to some of them; from its
	// first lease on the client makes IDs in the right layout, which may be less
	// than those before.
	Layout Layout

	// MaxBackward decides what happens when the clock is set back to a time before
	// the last timestamp used:
	//   - positive: wait for the clock if it lags by no more than this
	//     (in whole milliseconds), otherwise return a [*ClockBackwardError];
	//   - zero, new(time.Duration(0)): return the error at once, for strict
	//     timekeeping;
	//   - negative: wait however long it takes, for machines with a clock that
	//     jumps; only ctx ends the wait.
	//
	// The default, used for nil, is [DefaultMaxBackward].
	MaxBackward *time.Duration

	// Now reads the clock. It must be safe for concurrent use and must not
	// block. Jumps of the clock are noticed by the monotonic readings that the
	// times of [time.Now] carry. The default, used for nil, is [time.Now].
	Now func() time.Time

	// Observe, if not nil, is called once, when the client is made, so that a meter can
	// sample its [Metrics] whenever the meter is read. Nothing is reported while IDs are
	// made, so observing costs them nothing. read returns what the client counts at the
	// moment of the call; it is quick, safe for concurrent use, and still works after the
	// client was shut down. [Client.Shutdown] calls forget, if it is not nil, once. The
	// Observe method of an idgenotel.Observer is such a function.
	Observe func(read func() Metrics) (forget func())

	// Logger gets what an operator should know: beginning and end of fallback,
	// clocks that jump, leases of another epoch, failures to acquire. The
	// default, used for nil, is [slog.Default].
	Logger *slog.Logger

	monotone bool                 // Now was nil
	mono     func() time.Duration // monotonic time, if Now's times carry none (tests)
	asleep   func() time.Duration // how long the machine has slept, if not as the system says (tests)
}

// Validate reports everything that is wrong with the options, joined by
// [errors.Join]. An [ErrNoProvider] is among it if fallback is disabled and
// there is no provider.
func (o Options) Validate() error {
	o = o.withDefaults()
	faults := []error{o.Layout.Validate()}
	if o.Provider == nil && o.DisableFallback {
		faults = append(faults, ErrNoProvider)
	}
	if most := int64(1) << (maxMachineBits - 1); o.MaxThroughput < 1 || int64(o.MaxThroughput) > most {
		faults = append(faults, fmt.Errorf("idgen: options: MaxThroughput is %d; it must be from 1 to %d", o.MaxThroughput, most))
	}
	if o.AcquireRetryInterval < 0 {
		faults = append(faults, fmt.Errorf("idgen: options: AcquireRetryInterval is %v; it must be positive", o.AcquireRetryInterval))
	}
	if o.AcquireRetryMaxInterval < o.AcquireRetryInterval {
		faults = append(faults, fmt.Errorf("idgen: options: AcquireRetryMaxInterval is %v; it must be at least AcquireRetryInterval, %v",
			o.AcquireRetryMaxInterval, o.AcquireRetryInterval))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	o.Layout = cmp.Or(o.Layout, DefaultLayout())
	if o.MaxBackward == nil {
		o.MaxBackward = new(DefaultMaxBackward)
	}
	if o.Now == nil {
		o.Now, o.monotone = time.Now, true
	}
	o.MaxThroughput = cmp.Or(o.MaxThroughput, DefaultMaxThroughput)
	o.AcquireRetryInterval = cmp.Or(o.AcquireRetryInterval, DefaultAcquireRetryInterval)
	o.AcquireRetryMaxInterval = cmp.Or(o.AcquireRetryMaxInterval, max(DefaultAcquireRetryMaxInterval, o.AcquireRetryInterval))
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Meta == nil {
		o.Meta = defaultMeta()
	}
	o.Meta = maps.Clone(o.Meta)
	return o
}

// defaultMeta tells the client apart in listings.
func defaultMeta() map[string]string {
	meta := map[string]string{"pid": strconv.Itoa(os.Getpid())}
	if host, err := os.Hostname(); err == nil {
		meta["host"] = host
	}
	return meta
}

// Metrics says how a [Client] does: what section 10.3 of the kazahana
// specification says to watch. Counts are since the client was made.
type Metrics struct {
	ServiceID string // Options.ServiceID

	// What the client makes IDs under now.
	ActiveLeases int // zero in fallback and in standalone mode
	Throughput   int // IDs a millisecond, with those leases or in fallback

	// IDs made. Their total is the service's consumption.
	LeasedIDs         int64
	CachedFallbackIDs int64 // under leases that have just expired: unique
	RandomFallbackIDs int64 // unique only with the odds that Client states

	// Exhausted counts the milliseconds in which callers used up all IDs and
	// waited for the next one.
	Exhausted int64

	// Calls of the provider.
	Acquires        int64 // that brought a lease
	AcquireFailures int64 // that brought an error, or nothing usable
	RejectedLeases  int64 // of another epoch or layout, or otherwise unusable
	Releases        int64
	ReleaseFailures int64

	// Clock.
	ClockBackward int64 // how often it was found set back
	ClockForward  int64 // how often it was found far ahead: set forward, or the machine slept

	// LeasedThroughput is how many positions of a millisecond the client has leased,
	// including leases that it does not use at the moment. The sum over all
	// clients of a service is what is taken of the service's positions: 2^21 in
	// the default layout.
	LeasedThroughput int
}

// IDs returns the number of all IDs made.
func (m Metrics) IDs() int64 { return m.LeasedIDs + m.CachedFallbackIDs + m.RandomFallbackIDs }
