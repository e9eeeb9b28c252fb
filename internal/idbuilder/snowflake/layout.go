// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Layout divides the bits of an ID, from the uppermost down.
type Layout struct {
	SkipSize     int   `json:"skip_size"`      // zeros; 0 to 30
	BaseTS       int64 `json:"base_ts"`        // Unix milliseconds of the timestamp 0; not negative
	TSSize       int   `json:"ts_size"`        // of the timestamp in milliseconds; 32 to 62
	WorkerIDSize int   `json:"worker_id_size"` // 1 to 21
	SeqSize      int   `json:"seq_size"`       // 1 to 30
}

// Validate reports everything that is wrong with the layout.
func (l Layout) Validate() error {
	var faults []error
	for _, size := range []struct {
		name            string
		value, low, top int
	}{
		{"skip_size", l.SkipSize, 0, 30}, {"ts_size", l.TSSize, 32, 62}, {"worker_id_size", l.WorkerIDSize, 1, 21}, {"seq_size", l.SeqSize, 1, 30},
	} {
		if size.value < size.low || size.value > size.top {
			faults = append(faults, fmt.Errorf("snowflake: %s is %d; it must be from %d to %d", size.name, size.value, size.low, size.top))
		}
	}
	if sum := l.SkipSize + l.TSSize + l.WorkerIDSize + l.SeqSize; sum != 64 {
		faults = append(faults, fmt.Errorf("snowflake: skip_size, ts_size, worker_id_size and seq_size sum to %d; they must sum to 64", sum))
	}
	if l.BaseTS < 0 {
		faults = append(faults, fmt.Errorf("snowflake: base_ts is %d; it must not be negative", l.BaseTS))
	}
	return errors.Join(faults...)
}

// endOfTime returns the first millisecond that the timestamp cannot express.
func (l Layout) endOfTime() int64 {
	end := l.BaseTS + 1<<l.TSSize
	if end < l.BaseTS || end > maxTime {
		return maxTime
	}
	return end
}

// maxTime is later than any lease, and small enough to calculate with.
const maxTime = 1 << 61

// timestampShift is the number of bits below the timestamp.
func (l Layout) timestampShift() uint { return uint(l.WorkerIDSize + l.SeqSize) }

// hash names the layout in the keys of documents.
func (l Layout) hash() string {
	sum := sha256.Sum256(fmt.Append(nil, l.SkipSize, l.BaseTS, l.TSSize, l.WorkerIDSize, l.SeqSize))
	return hex.EncodeToString(sum[:8])
}

// NoRepeatsFrom returns the time from which on every ID of the layout next is greater than
// all IDs of l, if IDs of l are made until held at the latest. The zero time means never.
//
// An ID is (t−base_ts)·2^shift plus the lower bits; shift is the number of bits of worker id
// and sequence. So a later base_ts, or a smaller shift, repeats IDs of the past until enough
// time has passed. An earlier base_ts, or a larger shift, leaps over them. With the same
// base_ts and shift, but another division between worker id and sequence, IDs can be equal
// only while clients of both layouts make them.
func (l Layout) NoRepeatsFrom(next Layout, held time.Time) (until time.Time) {
	last := big.NewInt(held.UnixMilli() - l.BaseTS) // the first timestamp that no client of l uses
	last.Lsh(last, l.timestampShift())
	unit := new(big.Int).Lsh(big.NewInt(1), next.timestampShift())
	first, rest := new(big.Int).QuoRem(last, unit, new(big.Int))
	if rest.Sign() > 0 {
		first.Add(first, big.NewInt(1))
	}
	first.Add(first, big.NewInt(next.BaseTS))
	if !first.IsInt64() || first.Int64() >= next.endOfTime() {
		return time.Time{}
	}
	return time.UnixMilli(max(first.Int64(), next.BaseTS))
}

// shardWidth returns the number of bits of a worker id within its shard.
func (l Layout) shardWidth() int { return min(l.WorkerIDSize, shardBits) }

// shards returns how many shards the worker ids are in.
func (l Layout) shards() int { return 1 << (l.WorkerIDSize - l.shardWidth()) }
