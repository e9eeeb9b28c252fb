// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idgen"
)

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
		CustomEpochMs: spaceEpoch, BitReserve: 64 - spaceBitTs - (bits + 1) - spaceBitSeq, BitTs: spaceBitTs,
		BitID: bits + 1, BitSeq: spaceBitSeq, // one bit of the id is that of fallback, which is not used
	}
}
