// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"math"
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/tuple"
)

var errNoTime = errors.New("index: the integer is no time in nanoseconds")

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

// ReadNullable returns the reader of what [AppendNullable] wrote with the encoder of the
// values that read reads: nil for null.
func ReadNullable[T any](read func([]byte) (T, []byte, error)) func([]byte) (*T, []byte, error) {
	return func(b []byte) (*T, []byte, error) {
		if tuple.IsNil(b) {
			rest, err := tuple.ReadNil(b)
			return nil, rest, err
		}
		v, rest, err := read(b)
		if err != nil {
			return nil, nil, err
		}
		return &v, rest, nil
	}
}

// ReadDescending returns the reader of what [Descending] wrote with the encoder of the
// values that read reads.
func ReadDescending[T any](read func([]byte) (T, []byte, error)) func([]byte) (T, []byte, error) {
	return func(b []byte) (v T, rest []byte, err error) {
		element, rest, err := ReadDescended(nil, b)
		if err == nil {
			v, _, err = read(element)
		}
		return v, rest, err
	}
}
