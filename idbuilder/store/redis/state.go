// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// sequence is the state of a sequence as scripts report it, with the confirmations that
// were not yet applied to it.
type sequence struct {
	rawValue, rawVersion, rawEpoch string // for the comparison; the epoch is the server's

	exists  bool
	value   int64 // as stored
	version int64 // 0 if it does not exist
	step    int64 // of the last reservation; 0 if it is not known
	epoch   int64 // of the server
	skip    int64 // steps that confirmations skip and this sequence has not skipped yet
	mark    string
}

// startValue returns the value of the sequence, or the start of r if it does not exist,
// plus the numbers to skip.
func (q sequence) startValue(r store.Reservation) int64 {
	at, step, bound := q.value, q.step, int64(math.MaxInt64)
	if !q.exists {
		at, step = r.Start, r.Step
	}
	if step == 0 {
		step = r.Step
	}
	if step < 0 {
		bound = math.MinInt64
	}
	if q.skip > 0 { // after an error, at is the end of int64
		at, _ = store.Reservation{Step: step, Count: q.skip, Bound: bound}.Advance(at)
	}
	return at
}

// nextVersion returns the version of the next change.
func (q sequence) nextVersion() int64 {
	if !q.exists {
		return q.epoch<<epochShift + 1
	}
	return q.version + 1
}
