// SPDX-License-Identifier: Apache-2.0

package election

import "time"

// noteTerm counts a term that begins.
func (c *campaign) noteTerm(takeover bool) {
	c.updateMetrics(func(m *Metrics) {
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
	c.updateMetrics(func(m *Metrics) {
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
		c.updateMetrics(func(m *Metrics) { m.Vacant += more })
	}
	c.vacant, c.noted = vacant, now
}

// noteEnd counts the end of a term.
func (c *campaign) noteEnd() {
	c.updateMetrics(func(m *Metrics) {
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
