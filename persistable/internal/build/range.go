// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"time"

	"github.com/kazahana-db/kazahana/tuple"
)

// Range is a part of the keys of records, from Begin up to but not including End.
// Records from Begin up to but not including Next are done.
type Range struct {
	Begin, End, Next []byte        // what follows the prefix of records
	Worker           []byte        // the worker that has claimed it; empty: none
	Beats            int64         // grows with each change: how other workers see that Worker lives
	Records, Bytes   int64         // of the records that are done; bytes read and written
	Estimate         int64         // of the bytes of its records when the build began, at least 1
	Busy             time.Duration // the time that its workers have spent on it
}

// IsDone reports whether nothing is left.
func (r *Range) IsDone() bool { return bytes.Compare(r.Next, r.End) >= 0 }

// estimatedDone returns how many of the estimated bytes are done.
func (r *Range) estimatedDone() int64 {
	if r.IsDone() {
		return r.Estimate
	}
	return min(r.Bytes, r.Estimate)
}

// mayBeClaimed reports whether a worker may fill the range: it is the worker's own, or
// free, or it has not changed since the worker saw it and found that its claim had
// expired.
func (r *Range) mayBeClaimed(worker []byte, expired *Range) bool {
	switch {
	case len(r.Worker) == 0, bytes.Equal(r.Worker, worker):
		return true
	case expired == nil:
		return false
	}
	return bytes.Equal(r.Worker, expired.Worker) && r.Beats == expired.Beats
}

// encode returns the value of the range: the tuple (end, next, worker, beats, records,
// bytes, estimate, busy in microseconds).
func (r *Range) encode() []byte {
	b := tuple.AppendBytes(nil, r.End)
	b = tuple.AppendBytes(b, r.Next)
	b = tuple.AppendBytes(b, r.Worker)
	for _, n := range []int64{r.Beats, r.Records, r.Bytes, r.Estimate, r.Busy.Microseconds()} {
		b = tuple.AppendInt(b, n)
	}
	return b
}

// decode reads what encode returned. It reports whether it could.
func (r *Range) decode(b []byte) (ok bool) {
	var err error
	for _, part := range []*[]byte{&r.End, &r.Next, &r.Worker} {
		if *part, b, err = tuple.ReadBytes(b); err != nil {
			return false
		}
	}
	var busy int64
	for _, n := range []*int64{&r.Beats, &r.Records, &r.Bytes, &r.Estimate, &busy} {
		if *n, b, err = tuple.ReadInt(b); err != nil {
			return false
		}
	}
	r.Busy = time.Duration(busy) * time.Microsecond
	return len(b) == 0 && r.Estimate > 0 && bytes.Compare(r.Begin, r.Next) <= 0 && bytes.Compare(r.Next, r.End) <= 0
}
