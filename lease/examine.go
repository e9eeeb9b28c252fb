// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"time"
)

// Reader is the part of a [Tx] that reads. All reads of one are of the same version.
type Reader interface {
	// Get is [Tx.Get].
	Get(ctx context.Context, keys ...[]byte) ([][]byte, error)
	// Scan is [Tx.Scan].
	Scan(ctx context.Context, begin, end []byte, limit int) ([]Pair, error)
}

// Examination is what [Examine] has found.
type Examination struct {
	Faults []Fault
	Pairs  int
	Next   []byte // the key behind which the next call goes on; nil: the map has no more

	// What the service's record says; the zero value if it cannot be read, or if there
	// is none.
	Known              bool      // there is a record
	Settled            bool      // the service is not being made or removed
	Latest, Claim      time.Time // the highest time of a grant that is believed; one far ahead that is not yet
	Quarantine, Floor  time.Time // nothing is granted before
	Ending, Held, Free int       // blocks: held by leases that end soon; held by others; free
}

// Examine checks the pairs of a service's map behind a key, at most limit of them, and
// what they refer to: each value, that blocks cover the positions below the frontier
// without overlap and lie in the queue, and that requests and accounts agree with them. A
// lease that is not released, and ends within soon from now on, counts as Ending. Reads
// must be of one version: then no concurrent change makes a fault.
//
// Cost: three rounds of reads.
func Examine(ctx context.Context, r Reader, service string, after []byte, limit int, now time.Time, soon time.Duration) (Examination, error) {
	x := examiner{service: service, reader: r, now: now.UnixMilli(), soon: soon.Milliseconds()}
	err := x.run(ctx, after, max(limit, 2))
	return x.Examination, err
}

// run checks one batch.
func (x *examiner) run(ctx context.Context, after []byte, limit int) error {
	if err := x.readService(ctx); err != nil {
		return err
	}
	begin := []byte{0}
	if after != nil {
		begin = append(append([]byte(nil), after...), 0)
	}
	pairs, err := x.reader.Scan(ctx, begin, []byte{0xff}, limit+1)
	if err != nil {
		return err
	}
	x.before, x.Pairs = after, min(len(pairs), limit)
	if x.Pairs < len(pairs) {
		x.Next = pairs[limit-1].Key
	}
	if !x.stored && after == nil && len(pairs) > 0 && pairs[0].Key[0] != keyGone {
		x.addFault(FaultRecord, serviceKey(), "the record of the service is missing, and others are there: the next lease puts the service into quarantine")
	}
	for i, pair := range pairs[:x.Pairs] {
		var next *Pair
		if i+1 < len(pairs) {
			next = &pairs[i+1]
		}
		x.examine(pair, next)
	}
	return x.compare(ctx)
}

// readService reads the record of the service and its frontier.
func (x *examiner) readService(ctx context.Context) error {
	values, err := x.reader.Get(ctx, serviceKey(), frontierKey())
	if err != nil {
		return err
	}
	x.stored = values[0] != nil
	x.Known = x.stored && decode(x.service, serviceKey(), values[0], &x.record) == nil
	x.bounded = values[1] == nil || decode(x.service, frontierKey(), values[1], &x.frontier) == nil
	if !x.Known {
		return nil
	}
	x.Settled = !x.record.Unsettled && !x.record.Removing
	x.Latest, x.Quarantine, x.Floor = timeAt(x.record.Latest), timeAt(x.record.Quarantine), timeAt(x.record.Floor)
	if x.record.Claim != nil {
		x.Claim = timeAt(x.record.Claim.At)
	}
	return nil
}

// timeAt returns a time of a record; the zero time for none.
func timeAt(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
