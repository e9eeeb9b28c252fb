// SPDX-License-Identifier: Apache-2.0

package lease

import "errors"

// serviceRecord is what the store knows of a service as a whole: what never
// changes, its quarantine, and the times by which it is leased.
type serviceRecord struct {
	CustomEpoch int64  `json:"epoch"`
	BitReserve  int    `json:"bitReserve"`
	BitTs       int    `json:"bitTs"`
	Incarnation string `json:"incarnation"`     // random: tells this record from one written after a loss
	Store       string `json:"store,omitempty"` // the incarnation of the store; see IncarnationTx
	Quarantine  int64  `json:"quarantine"`      // nothing is granted before, Unix milliseconds
	// Continued is until when leases that were lost may be continued: those that
	// are granted after the quarantine end later.
	Continued int64 `json:"continued,omitempty"`
	// Floor is when the leases of services that were removed have ended: nothing is
	// granted before.
	Floor     int64  `json:"floor,omitempty"`
	After     string `json:"after,omitempty"`     // the incarnation of this service that was removed before
	Unsettled bool   `json:"unsettled,omitempty"` // the floor is not known yet
	Removing  bool   `json:"removing,omitempty"`  // nothing is granted: the keys are being removed
	times
}

func newServiceRecord(c ServiceConfig) serviceRecord {
	return serviceRecord{
		CustomEpoch: c.Layout.CustomEpochMs, BitReserve: c.Layout.BitReserve, BitTs: c.Layout.BitTs,
		Incarnation: randomHex(),
	}
}

func (r *serviceRecord) validate() error {
	if r.Incarnation == "" || r.Quarantine < 0 || r.Continued < 0 || r.Floor < 0 {
		return errors.New("it has no incarnation, or a quarantine before 1970")
	}
	return r.times.validate()
}

func (r *serviceRecord) frame() frame {
	return frame{CustomEpoch: r.CustomEpoch, BitReserve: r.BitReserve, BitTs: r.BitTs}
}

// lastEnd returns when all leases of the service have ended, with their
// continuation, and its quarantine is over.
func (r *serviceRecord) lastEnd() int64 {
	end := max(r.Latest, r.Quarantine, r.Continued, r.Floor)
	for _, l := range r.Lengths {
		end = max(end, l.Until)
	}
	return end
}
