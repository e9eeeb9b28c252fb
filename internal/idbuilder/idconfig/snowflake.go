// SPDX-License-Identifier: Apache-2.0

package idconfig

import "time"

// Snowflake configures IDs that clients make themselves: bits to skip, a
// timestamp, a worker id that is leased, and a sequence, from the uppermost bit.
// The sizes sum to 64.
type Snowflake struct {
	SkipSize     int   `json:"skip_size"`
	BaseTS       int64 `json:"base_ts"` // Unix milliseconds of the timestamp 0
	TSSize       int   `json:"ts_size"`
	WorkerIDSize int   `json:"worker_id_size"`
	SeqSize      int   `json:"seq_size"`
}

// The deployed worker's defaults, and the sizes that it has beside those of the
// worker id and the sequence.
const (
	deployedEpoch        = 1_704_067_200_000
	deployedTSSize       = 41
	deployedWorkerBits   = 10
	deployedSequenceBits = 12
	deployedBits         = 22 // of both at most: one bit is left for the sign
)

// names are the names of a snowflake configuration's parameters in a request. An
// empty skip says that the request has no such parameter.
type names struct{ skip, base, ts, worker, seq string }

var specifiedNames = names{"skip_size", "base_ts", "ts_size", "worker_id_size", "seq_size"}

// bounds of the sizes, in bits. They hold all that the deployed worker accepts.
var sizeBounds = struct{ skip, ts, worker, seq [2]int }{skip: [2]int{0, 30}, ts: [2]int{32, 62}, worker: [2]int{1, 21}, seq: [2]int{1, 30}}

// checkSizes returns the faults of the sizes.
func (c *Snowflake) checkSizes(n names) (faults []error) {
	for _, size := range []struct {
		name   string
		value  int
		bounds [2]int
	}{
		{n.skip, c.SkipSize, sizeBounds.skip},
		{n.ts, c.TSSize, sizeBounds.ts},
		{n.worker, c.WorkerIDSize, sizeBounds.worker},
		{n.seq, c.SeqSize, sizeBounds.seq},
	} {
		if size.name != "" && (size.value < size.bounds[0] || size.value > size.bounds[1]) {
			faults = append(faults, fault(size.name, "it is %d; allowed are %d to %d", size.value, size.bounds[0], size.bounds[1]))
		}
	}
	if len(faults) > 0 {
		return faults
	}
	if sum := c.SkipSize + c.TSSize + c.WorkerIDSize + c.SeqSize; sum != 64 {
		return []error{fault(n.ts, "%s, %s, %s and %s sum to %d; they must sum to 64", n.skip, n.ts, n.worker, n.seq, sum)}
	}
	if bits := c.WorkerIDSize + c.SeqSize; n.skip == "" && bits > deployedBits {
		return []error{fault(n.worker, "%s and %s sum to %d; allowed are 2 to %d", n.worker, n.seq, bits, deployedBits)}
	}
	return nil
}

// checkBase returns the faults of the base at a time. The sizes are valid.
func (c *Snowflake) checkBase(n names, now time.Time) []error {
	since := now.UnixMilli() - c.BaseTS
	switch {
	case c.BaseTS < 0 || since < 0:
		return []error{fault(n.base, "it is %d; allowed are 0 to %d, which is now, in milliseconds since 1970", c.BaseTS, now.UnixMilli())}
	case since >= 1<<c.TSSize:
		return []error{fault(n.base, "it is %d, and %d bits of milliseconds since then have ended; allowed are %d to %d", c.BaseTS, c.TSSize, now.UnixMilli()-1<<c.TSSize+1, now.UnixMilli())}
	}
	return nil
}
