// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"
)

// Observer takes note of elections that run, to report their metrics: see package
// electionotel.
type Observer interface {
	// Observe is called when Run begins. read returns the present metrics at any
	// time, from any goroutine; forget is called when Run ends.
	Observe(read func() Metrics) (forget func())
}

// Metrics is what an [Election] counts, as its candidate sees it. Counts begin with
// New and never go back.
type Metrics struct {
	Name     string // of the election
	Leading  bool
	Rank     int64 // of the latest term that it led
	Standbys int64 // that were registered at its latest renewal; 0 if it does not lead

	Terms     int64 // that it won
	Takeovers int64 // of these, terms that began with the lapse of another's lease
	Deposed   int64 // terms that it lost
	Resigned  int64 // terms that it ended itself

	Renewals       int64 // that were made
	LateRenewals   int64 // that were left out since one was under way, or since the process stood still
	FailedRenewals int64 // that failed, and were tried again
	Failures       int64 // looks and claims that failed, and were tried again

	// Vacant is how long there was no leader, as far as the candidate could know: since the name
	// was given back, or since a lease had lapsed.
	Vacant time.Duration
}
