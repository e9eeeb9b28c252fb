// SPDX-License-Identifier: Apache-2.0

package idgen

// Metrics says how a [Client] does: what section 10.3 of the kazahana
// specification says to watch. Counts are since the client was made.
type Metrics struct {
	ServiceID string // Options.ServiceID

	// What the client makes IDs under now.
	ActiveLeases    int // zero in fallback and in standalone mode
	ThroughputPerMs int // IDs a millisecond, with those leases or in fallback

	// IDs made. Their total is the service's consumption.
	LeasedIDs         int64
	CachedFallbackIDs int64 // under leases that have just expired: unique
	RandomFallbackIDs int64 // unique only with the odds that Client states

	// Exhausted counts milliseconds whose IDs were used up before they ended,
	// so that callers waited for the next one.
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

	// LeasedPerMs is how many positions of a millisecond the client has leased,
	// also under leases that it does not use at the moment. The sum over all
	// clients of a service is what is taken of the service's positions: 2^21 in
	// the default layout.
	LeasedPerMs int
}

// IDs returns the number of all IDs made.
func (m Metrics) IDs() int64 { return m.LeasedIDs + m.CachedFallbackIDs + m.RandomFallbackIDs }

// Observer is where the [Metrics] of Clients go: a meter that samples them
// when it is read. Nothing is reported while IDs are made, so observing costs
// them nothing.
type Observer interface {
	// Observe is told of a Client when it is made. read returns what the
	// client counts at the moment of the call; it is safe for concurrent use,
	// quick, and works on when the client was shut down. [Client.Shutdown]
	// calls forget, if it is not nil, once.
	Observe(read func() Metrics) (forget func())
}
