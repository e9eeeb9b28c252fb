// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/tuple"
)

// The functions of this file put the values of a field that need more than package
// tuple has into an index key, as a tuple element. The elements sort, by their bytes,
// as the values do. None allocates beyond the growth of b.

// AppendFloat32 appends a float. Floats that mean one value have one key, so that both
// zeros are found as 0, and every NaN as math.NaN(), which sorts after +Inf: the sign
// and the other bits of a NaN depend on the processor that made it.
func AppendFloat32(b []byte, v float32) []byte {
	switch {
	case v == 0:
		v = 0
	case v != v:
		v = float32(math.NaN())
	}
	return tuple.AppendFloat32(b, v)
}

// AppendFloat64 appends a float, as [AppendFloat32] does.
func AppendFloat64(b []byte, v float64) []byte {
	switch {
	case v == 0:
		v = 0
	case v != v:
		v = math.NaN()
	}
	return tuple.AppendFloat64(b, v)
}

const nanosPerSecond = 1_000_000_000

// AppendTime appends an instant as the integer of nanoseconds since 1970 UTC:
// 128 bits, so that every time.Time has its place. Zone and monotonic reading
// do not count.
func AppendTime(b []byte, v time.Time) []byte {
	seconds := v.Unix()
	high, low := bits.Mul64(uint64(seconds), nanosPerSecond)
	if seconds < 0 {
		high -= nanosPerSecond // the sign of a two's complement factor
	}
	low, carry := bits.Add64(low, uint64(v.Nanosecond()), 0)
	return tuple.AppendInt128(b, int64(high+carry), low)
}

var errNoTime = errors.New("index: the integer is not a time in nanoseconds")

// ReadTime reads what [AppendTime] wrote and returns what follows it. The time is in UTC.
func ReadTime(b []byte) (v time.Time, rest []byte, err error) {
	hi, lo, rest, err := tuple.ReadInt128(b)
	if err != nil {
		return v, nil, err
	}
	negative := hi < 0
	if negative { // the complement of a negative n is -n-1, which is not negative
		hi, lo = ^hi, ^lo
	}
	if hi >= nanosPerSecond {
		return v, nil, errNoTime
	}
	seconds, nanos := bits.Div64(uint64(hi), lo, nanosPerSecond)
	if seconds > math.MaxInt64 {
		return v, nil, errNoTime
	}
	if negative {
		return time.Unix(^int64(seconds), nanosPerSecond-1-int64(nanos)).UTC(), rest, nil
	}
	return time.Unix(int64(seconds), int64(nanos)).UTC(), rest, nil
}

const (
	bytesCode   = 0x01 // begins a tuple's byte string
	escapedZero = 0xff // follows a zero byte within one
)

var errNotDescended = errors.New("index: the element is not one in descending order")

// Descend replaces the tuple element k[n:] by one that sorts in the opposite
// order: a byte string of the complement of the element and a zero byte. null,
// which sorts first, then sorts last. It allocates nothing beyond the growth of k.
//
// The zero byte keeps the order of elements of which one begins with the other: the
// strings "a" and "a\x00b" are 02 61 00 and 02 61 00 ff 62 00. After the first, the
// zero byte is compared with the second's ff. So no element with its zero byte
// begins with another, and complements compare the other way round.
func Descend(k []byte, n int) []byte {
	escapes := bytes.Count(k[n:], []byte{0xff}) // which become zero bytes
	from, size := len(k), len(k)-n
	k = slices.Grow(k, escapes+3)[:len(k)+escapes+3] // code, complement of the zero byte, end
	to := len(k)
	k[to-1], k[to-2] = 0, 0xff
	to -= 2
	for range size {
		from--
		c := ^k[from]
		if c == 0 {
			to--
			k[to] = escapedZero
		}
		to--
		k[to] = c
	}
	k[n] = bytesCode
	return k
}

// DescendPrefix returns what all elements begin with that [Descend] makes of elements which
// begin with the prefix.
func DescendPrefix(prefix []byte) []byte {
	descended := Descend(bytes.Clone(prefix), 0)
	return descended[:len(descended)-2] // without the complement of the zero byte, and the end
}

// ReadDescended appends to dst the element that [Descend] replaced by the one that b
// begins with, and returns what follows in b.
func ReadDescended(dst, b []byte) (element, rest []byte, err error) {
	if len(b) == 0 || b[0] != bytesCode {
		return dst, nil, errNotDescended
	}
	complement, rest, err := tuple.ReadBytes(b)
	if err != nil {
		return dst, nil, err
	}
	last, ended := len(complement)-1, b[len(b)-len(rest)-1] == 0 // package tuple reads some that are cut off
	if last < 1 || complement[last] != 0xff || !ended {
		return dst, nil, errNotDescended
	}
	n := len(dst)
	dst = append(dst, complement[:last]...)
	for i := n; i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	if after, err := tuple.Skip(dst[n:]); err != nil || len(after) > 0 {
		return dst[:n], nil, errNotDescended
	}
	return dst, rest, nil
}

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
	return int(rank.Hash(id) >> (64 - bits.TrailingZeros(uint(n))))
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
