// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"

	"github.com/kazahana-db/kazahana/kv"
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

// Metrics returns the present metrics.
func (e *Election) Metrics() Metrics {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.metrics
}

// count changes the metrics.
func (e *Election) count(change func(*Metrics)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.metrics)
}

// noteTerm counts a term that begins.
func (c *campaign) noteTerm(takeover bool) {
	c.count(func(m *Metrics) {
		m.Leading, m.Rank = true, c.grant.Epoch
		m.Terms++
		if takeover {
			m.Takeovers++
		}
	})
}

// noteRenewal counts a renewal, and those that were left out before it.
func (c *campaign) noteRenewal(err error) {
	late := c.candidate.Late()
	c.count(func(m *Metrics) {
		if err == nil {
			m.Renewals++
		} else {
			m.FailedRenewals++
		}
		m.LateRenewals += int64(late - c.late)
	})
	c.late = late
}

// noteVacancy counts the time without a leader, up to now.
func (c *campaign) noteVacancy(now time.Duration) {
	vacant := c.candidate.VacantFor(now)
	more := vacant - c.vacant
	if vacant == 0 && c.vacant > 0 { // it has just ended
		more = now - c.noted
	}
	if more > 0 {
		c.count(func(m *Metrics) { m.Vacant += more })
	}
	c.vacant, c.noted = vacant, now
}

// noteEnd counts the end of a term.
func (c *campaign) noteEnd() {
	c.count(func(m *Metrics) {
		switch {
		case !m.Leading:
		case c.candidate.Over() != nil:
			m.Deposed++
		default:
			m.Resigned++
		}
		m.Leading, m.Standbys = false, 0
	})
}

// unwatched is a watch that never fires.
func unwatched() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }
