// SPDX-License-Identifier: Apache-2.0

package lease

import "time"

// beginQuarantine grants nothing from now on for d, or, if d is 0, until all
// leases that may be in force have ended. These may be continued for as long
// again; leases that are granted after the quarantine end later than that. Leases
// of a plain service are not continued.
func (tx *serviceTx) beginQuarantine(d time.Duration) {
	r := &tx.record
	if d > 0 {
		r.Quarantine = max(r.Quarantine, tx.now+d.Milliseconds())
		return
	}
	longest := max(r.longestLease(), tx.duration())
	start := tx.now + DefaultSkew.Milliseconds()
	r.Quarantine = max(r.Quarantine, start+longest)
	if !tx.config.Plain {
		r.Continued = max(r.Continued, start+2*longest)
	}
}

// quarantineEnd returns when leases of the configured length can be granted.
func (tx *serviceTx) quarantineEnd() int64 {
	return max(tx.record.Quarantine, tx.record.Continued-tx.duration())
}
