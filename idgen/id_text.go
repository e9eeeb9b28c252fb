// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// maxSafeJSON is the greatest integer up to which every JSON reader and
// writer that holds numbers as float64 is exact (2^53 - 1).
const maxSafeJSON = 1<<53 - 1

// Parse reads an ID from its decimal form, the one that [ID.String] writes and
// no other: digits only, no sign, no leading zeros, at most
// 9223372036854775807. "0" is the zero ID. Errors are [ErrInvalid].
func Parse(s string) (ID, error) { return parseID(s) }

func parseID[T string | []byte](s T) (ID, error) {
	if len(s) == 0 {
		return 0, fmt.Errorf("%w: empty text; an ID is a decimal number", ErrInvalid)
	}
	var n uint64
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return 0, fmt.Errorf("%w %s: byte %d is %q; an ID is written in digits only", ErrInvalid, quote(s), i, s[i])
		}
		if n > (math.MaxInt64-uint64(digit))/10 {
			return 0, fmt.Errorf("%w %s: greater than %d, the greatest ID", ErrInvalid, quote(s), int64(math.MaxInt64))
		}
		n = n*10 + uint64(digit)
	}
	if s[0] == '0' && len(s) > 1 {
		return 0, fmt.Errorf("%w %s: leading zero; every ID has one spelling only", ErrInvalid, quote(s))
	}
	return ID(n), nil
}

// AppendText appends the decimal form to b. It implements
// [encoding.TextAppender] and does not allocate when b has room. A negative ID,
// which no generator makes, is an error, because [Parse] would refuse it.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if id < 0 {
		return b, fmt.Errorf("%w %d: negative; the top bit of an ID is 0", ErrInvalid, int64(id))
	}
	return strconv.AppendInt(b, int64(id), 10), nil
}

// MarshalText returns the decimal form; see [ID.AppendText].
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, 19)) }

// UnmarshalText reads the decimal form; see [Parse]. On error *id is unchanged.
func (id *ID) UnmarshalText(text []byte) error { return id.assign(parseID(text)) }

// MarshalJSON returns the decimal form as a JSON string.
func (id ID) MarshalJSON() ([]byte, error) {
	b, err := id.AppendText(append(make([]byte, 0, 21), '"'))
	return append(b, '"'), err
}

// UnmarshalJSON reads a JSON string in the form of [Parse]. It also accepts a
// JSON number if it is a plain integer up to 2^53 - 1; a greater one may have
// been rounded on its way and is refused. null leaves *id unchanged. Errors are
// [ErrInvalid].
func (id *ID) UnmarshalJSON(data []byte) error {
	switch {
	case bytes.Equal(data, []byte("null")):
		return nil
	case len(data) > 0 && data[0] == '"':
		return id.assign(parseJSONString(data))
	default:
		return id.assign(parseJSONNumber(data))
	}
}

func parseJSONString(data []byte) (ID, error) {
	if len(data) >= 2 && data[len(data)-1] == '"' && bytes.IndexByte(data, '\\') < 0 {
		return parseID(data[1 : len(data)-1])
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("%w %s: %w", ErrInvalid, quote(data), err)
	}
	return parseID(s)
}

func parseJSONNumber(data []byte) (ID, error) {
	v, err := parseID(data)
	if err != nil {
		return 0, fmt.Errorf("%w; in JSON an ID is a string of digits or a plain integer", err)
	}
	if v > maxSafeJSON {
		return 0, fmt.Errorf("%w %s: a JSON number above 2^53-1 may have been rounded; send the ID as a string", ErrInvalid, quote(data))
	}
	return v, nil
}

func (id *ID) assign(v ID, err error) error {
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// quote makes a bad input fit for an error message: quoted, and cut if long.
func quote[T string | []byte](s T) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", string(s[:most]), len(s))
	}
	return strconv.Quote(string(s))
}
