// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
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

// NoRepeatsFrom returns the first time at which every ID of the layout next is greater than
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

// leaseKey names a lease; only its client knows it.
type leaseKey struct {
	worker  int64
	created int64 // Unix milliseconds
	secret  string
}

// String returns the text that clients send.
func (k leaseKey) String() string { return fmt.Sprintf("%d.%d.%s", k.worker, k.created, k.secret) }

// WorkerIDOf returns the worker id that a lease key names, whether or not it is
// leased. The error is [ErrLeaseKey].
func WorkerIDOf(text string) (int64, error) {
	k, err := parseLeaseKey(text)
	return k.worker, err
}

// parseLeaseKey is the inverse of leaseKey.String.
func parseLeaseKey(text string) (k leaseKey, err error) {
	parts := strings.Split(text, ".")
	if len(text) > 128 || len(parts) != 3 || parts[2] == "" {
		return k, ErrLeaseKey
	}
	k.worker, err = strconv.ParseInt(parts[0], 10, 64)
	if err == nil {
		k.created, err = strconv.ParseInt(parts[1], 10, 64)
	}
	k.secret = parts[2]
	if err != nil || k.worker < 0 || k.created < 0 || k.String() != text {
		return leaseKey{}, ErrLeaseKey
	}
	return k, nil
}

// Worker ids are leased in shards of up to 2^shardBits, each of which is a
// document: so a document is small, and workers conflict seldom. To package lease a
// shard is a space of positions of its own in which a worker id is two positions,
// the smallest lease. The timestamp of that space is Unix time, whatever that of
// the IDs is: leases are milliseconds of worker ids.
const shardBits = 6

const (
	spaceEpoch  = 1_704_067_200_000 // 2024; an earlier clock has not been set
	spaceBitTs  = 42                // until 2163
	spaceBitSeq = 1
)

// shardLayout is the layout of a shard of 2^bits worker ids.
func shardLayout(bits int) idgen.Layout {
	return idgen.Layout{
		CustomEpoch: spaceEpoch, ReserveBits: 64 - spaceBitTs - (bits + 1) - spaceBitSeq, TimestampBits: spaceBitTs,
		MachineBits: bits + 1, SequenceBits: spaceBitSeq, // one bit of the id is that of fallback, which is not used
	}
}

// locks has a lock for each name that is in use. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*namedLock
}

// namedLock is a lock that goroutines hold or wait for.
type namedLock struct {
	token chan struct{} // has one element while a goroutine has the lock
	users int
}

// lock waits for the lock of a name. The caller calls unlock if there is no error.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	h := l.joinQueue(name)
	select {
	case h.token <- struct{}{}:
		return func() { <-h.token; l.leaveQueue(name, h) }, nil
	case <-ctx.Done():
		l.leaveQueue(name, h)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) joinQueue(name string) *namedLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[name]
	if h == nil {
		h = &namedLock{token: make(chan struct{}, 1)}
		if l.held == nil {
			l.held = map[string]*namedLock{}
		}
		l.held[name] = h
	}
	h.users++
	return h
}

func (l *locks) leaveQueue(name string, h *namedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, name)
	}
}
