// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"time"
)

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

// The deployed worker's defaults, and the sizes that it has in addition to those of the
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

// snowflakeRequest has the parameters of both dialects.
type snowflakeRequest struct {
	request
	SkipSize     *int   `json:"skip_size"`
	BaseTS       *int64 `json:"base_ts"`
	Epoch        *int64 `json:"epoch"`
	TSSize       *int   `json:"ts_size"`
	WorkerIDSize *int   `json:"worker_id_size"`
	WorkerBits   *int   `json:"worker_bits"`
	SeqSize      *int   `json:"seq_size"`
	SequenceBits *int   `json:"sequence_bits"`

	// The deployed worker's console has names of its own for epoch and worker_bits.
	ConsoleEpoch      *int64 `json:"epoch_ts"`
	ConsoleWorkerBits *int   `json:"worker_id_bits"`
}

func (r *snowflakeRequest) toConfig(now time.Time) (*Snowflake, []error) {
	faults := r.duplicateFaults()
	r.translate()
	if faults = append(faults, r.missingFaults()...); len(faults) > 0 {
		return nil, faults
	}
	c := &Snowflake{
		BaseTS: first(deployedEpoch, r.BaseTS, r.Epoch), TSSize: first(deployedTSSize, r.TSSize),
		WorkerIDSize: first(deployedWorkerBits, r.WorkerIDSize, r.WorkerBits), SeqSize: first(deployedSequenceBits, r.SeqSize, r.SequenceBits),
		SkipSize: first(1, r.SkipSize),
	}
	n := r.parameterNames()
	if n.skip == "" {
		c.SkipSize = 64 - c.TSSize - c.WorkerIDSize - c.SeqSize
	}
	faults = c.checkSizes(n)
	if len(faults) == 0 {
		faults = c.checkBase(n, now)
	}
	return c, faults
}

// translate copies parameters with the console's names to those with the deployed worker's.
func (r *snowflakeRequest) translate() {
	if r.ConsoleEpoch != nil {
		r.Epoch = r.ConsoleEpoch
	}
	if r.ConsoleWorkerBits != nil {
		r.WorkerBits = r.ConsoleWorkerBits
	}
}

// parameterNames returns the names of the parameters in the dialect that the request uses.
// The deployed worker's dialect has no skip_size: it leaves the uppermost bits empty.
func (r *snowflakeRequest) parameterNames() names {
	n := specifiedNames
	if r.SkipSize == nil && r.TSSize == nil {
		n.skip = ""
	}
	for _, p := range []struct {
		name          *string
		given         bool
		specification bool
		deployed      string
	}{
		{&n.base, r.Epoch != nil, r.BaseTS != nil, "epoch"},
		{&n.worker, r.WorkerBits != nil, r.WorkerIDSize != nil, "worker_bits"},
		{&n.seq, r.SequenceBits != nil, r.SeqSize != nil, "sequence_bits"},
	} {
		if p.given || !p.specification && !r.isSpecified() {
			*p.name = p.deployed
		}
	}
	if r.ConsoleEpoch != nil {
		n.base = "epoch_ts"
	}
	if r.ConsoleWorkerBits != nil {
		n.worker = "worker_id_bits"
	}
	return n
}

// duplicateFaults returns the faults of parameters that are given in both dialects.
func (r *snowflakeRequest) duplicateFaults() (faults []error) {
	for _, p := range []struct {
		a, b string
		both bool
	}{
		{"base_ts", "epoch", r.BaseTS != nil && r.Epoch != nil},
		{"worker_id_size", "worker_bits", r.WorkerIDSize != nil && r.WorkerBits != nil},
		{"seq_size", "sequence_bits", r.SeqSize != nil && r.SequenceBits != nil},
		{"base_ts", "epoch_ts", r.BaseTS != nil && r.ConsoleEpoch != nil},
		{"epoch", "epoch_ts", r.Epoch != nil && r.ConsoleEpoch != nil},
		{"worker_id_size", "worker_id_bits", r.WorkerIDSize != nil && r.ConsoleWorkerBits != nil},
		{"worker_bits", "worker_id_bits", r.WorkerBits != nil && r.ConsoleWorkerBits != nil},
	} {
		if p.both {
			faults = append(faults, twice(p.a, p.b))
		}
	}
	return faults
}

// missingFaults returns the faults of parameters that the specification requires. Ts_size
// follows from the deployed worker's worker_bits, which leave 41 bits. Its console, which sends
// worker_id_bits, sends a key as well, and no epoch if that field is empty.
func (r *snowflakeRequest) missingFaults() (faults []error) {
	if !r.isSpecified() {
		return nil
	}
	for _, p := range []struct {
		name    string
		missing bool
		allowed string
	}{
		{"base_ts", r.BaseTS == nil && r.Epoch == nil && r.ConsoleWorkerBits == nil, "0 to now, in milliseconds since 1970"},
		{"ts_size", r.TSSize == nil && r.WorkerBits == nil, "32 to 62"},
		{"worker_id_size", r.WorkerIDSize == nil && r.WorkerBits == nil, "1 to 21"},
		{"seq_size", r.SeqSize == nil && r.SequenceBits == nil, "1 to 30"},
	} {
		if p.missing {
			faults = append(faults, fault(p.name, "it is missing; allowed are %s", p.allowed))
		}
	}
	return faults
}
