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

// The deployed worker's defaults, and the size of its timestamp.
const (
	deployedEpoch  = 1_704_067_200_000
	deployedTSSize = 41
)

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
}

func (r *snowflakeRequest) config(now time.Time) (*Snowflake, []error) {
	var faults []error
	refuse := func(param, reason string, args ...any) { faults = append(faults, fault(param, reason, args...)) }
	for _, p := range []struct {
		a, b string
		both bool
	}{
		{"base_ts", "epoch", r.BaseTS != nil && r.Epoch != nil},
		{"worker_id_size", "worker_bits", r.WorkerIDSize != nil && r.WorkerBits != nil},
		{"seq_size", "sequence_bits", r.SeqSize != nil && r.SequenceBits != nil},
	} {
		if p.both {
			faults = append(faults, twice(p.a, p.b))
		}
	}
	if r.specified() {
		for name, missing := range map[string]bool{
			"base_ts": r.BaseTS == nil && r.Epoch == nil, "ts_size": r.TSSize == nil && r.WorkerBits == nil,
			"worker_id_size": r.WorkerIDSize == nil && r.WorkerBits == nil, "seq_size": r.SeqSize == nil && r.SequenceBits == nil,
		} {
			if missing {
				refuse(name, "it is missing")
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	c := &Snowflake{
		BaseTS: first(deployedEpoch, r.BaseTS, r.Epoch), TSSize: first(deployedTSSize, r.TSSize),
		WorkerIDSize: first(10, r.WorkerIDSize, r.WorkerBits), SeqSize: first(12, r.SeqSize, r.SequenceBits),
	}
	c.SkipSize = first(1, r.SkipSize)
	if r.SkipSize == nil && r.TSSize == nil {
		c.SkipSize = 64 - c.TSSize - c.WorkerIDSize - c.SeqSize // the deployed worker leaves the uppermost bits empty
	}
	c.check(now, refuse)
	return c, faults
}

func (c *Snowflake) check(now time.Time, refuse func(param, reason string, args ...any)) {
	for _, size := range []struct {
		name           string
		value, low, up int
	}{
		{"skip_size", c.SkipSize, 0, 16}, {"ts_size", c.TSSize, 32, 62}, {"worker_id_size", c.WorkerIDSize, 1, 20}, {"seq_size", c.SeqSize, 1, 20},
	} {
		if size.value < size.low || size.value > size.up {
			refuse(size.name, "it is %d; allowed are %d to %d", size.value, size.low, size.up)
		}
	}
	if sum := c.SkipSize + c.TSSize + c.WorkerIDSize + c.SeqSize; sum != 64 {
		refuse("ts_size", "skip_size, ts_size, worker_id_size and seq_size sum to %d; they must sum to 64", sum)
	}
	if c.BaseTS < 0 || c.BaseTS > now.UnixMilli() {
		refuse("base_ts", "it is %d; allowed are 0 to now, %d", c.BaseTS, now.UnixMilli())
	} else if c.TSSize < 62 && now.UnixMilli()-c.BaseTS >= 1<<c.TSSize {
		refuse("base_ts", "%d bits of milliseconds since %d have ended before now", c.TSSize, c.BaseTS)
	}
}
