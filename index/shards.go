// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/bits"

	"github.com/kazahana-db/kazahana/index/internal/hash"
	"github.com/kazahana-db/kazahana/tuple"
)

// Shards is over how many shards keys are scattered that would otherwise all be
// written at one end of their range, because their ids or values grow with
// time: a power of two from 2 to 256, or 0 for keys that are not scattered. A
// scattered key has, before what it would begin with, the number of its shard
// as a tuple element.
//
// The shard is a hash of the record's packed id only, so that the id gives the key.
// It is part of the layout of stored data and never changes.
type Shards int

// MaxShards is the largest number of shards.
const MaxShards = 256

// Validate returns an error unless n is 0 or a power of two from 2 to 256.
func (n Shards) Validate() error {
	if n == 0 || n >= 2 && n <= MaxShards && n&(n-1) == 0 {
		return nil
	}
	return fmt.Errorf("index: keys cannot be scattered over %d shards: use a power of two from 2 to %d", int(n), MaxShards)
}

// Of returns the shard of the record with that packed id: the uppermost bits of
// a 64-bit hash. So each shard of n is two of 2n, and a program that knows the
// shard among 256 knows all others.
func (n Shards) Of(id []byte) int {
	if n == 0 {
		return 0
	}
	return int(hash.Of(id) >> (64 - bits.TrailingZeros(uint(n))))
}

// Append appends the shard of the record with that packed id to a key; nothing
// if keys are not scattered.
func (n Shards) Append(key, id []byte) []byte {
	if n == 0 {
		return key
	}
	return n.AppendShard(key, n.Of(id))
}

// AppendShard appends the number of a shard to a key; nothing if keys are not
// scattered.
func (n Shards) AppendShard(key []byte, shard int) []byte {
	if n == 0 {
		return key
	}
	return tuple.AppendInt(key, int64(shard))
}

// Cut takes the shard off what follows the prefix of a key.
func (n Shards) Cut(suffix []byte) (shard int, rest []byte, err error) {
	if n == 0 {
		return 0, suffix, nil
	}
	read, rest, err := tuple.ReadInt(suffix)
	if err == nil && (read < 0 || read >= int64(n)) {
		err = fmt.Errorf("index: the shard %d is none of %d", read, int(n))
	}
	return int(read), rest, err
}
