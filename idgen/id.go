// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// ErrInvalid is wrapped by every error about text, JSON or SQL input that is not an ID
// or a UUID.
var ErrInvalid = errors.New("idgen: invalid id")

// ID is a kazahana ID: 64 bits that sort by the time of their making.
//
//	1 bit    reserve    always 0, so that an ID is never negative
//	41 bits  timestamp  milliseconds since the epoch 2026-01-01T00:00:00Z
//	14 bits  machine    0–8191 leased; 8192–16383 fallback (top bit set)
//	8 bits   sequence   position within the millisecond
//
// The methods that take an ID apart ([ID.Time], [ID.MachineID], [ID.Sequence],
// [ID.IsFallback]) read these bits, the ones of [DefaultLayout]; for IDs of
// another layout use the methods of [Layout]. The zero ID means "none yet" and
// is never generated.
//
// As text, in JSON and as a JSON object key an ID is a decimal string: IDs pass
// 2^53, where JavaScript numbers stop being exact, 25 days after the epoch. In
// SQL it is a 64-bit integer.
//
// An ID is a plain value: copy it, compare it with == and <, use it as a map key.
type ID int64

// String returns the ID as a decimal number, for example "211469771380744768".
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// IsZero reports whether the ID is zero, which stands for "none yet".
func (id ID) IsZero() bool { return id == 0 }

// Compare returns -1, 0 or +1 as id is less than, equal to or greater than
// other. For IDs of one generator that is the order of their making.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }

// Time returns the moment, in UTC with millisecond precision, that the ID
// carries under the default layout.
func (id ID) Time() time.Time { return defaultLayout.Time(id) }

// MachineID returns the machine bits under the default layout: 0–8191 for a
// leased machine, 8192–16383 for a fallback ID. In a random fallback ID
// ([ID.IsFallback] without a lease) they identify no machine.
func (id ID) MachineID() int { return defaultLayout.MachineID(id) }

// Sequence returns the sequence bits, 0–255, under the default layout. In a
// random fallback ID they are the low bits of the random position.
func (id ID) Sequence() int { return defaultLayout.Sequence(id) }

// IsFallback reports whether the ID was made without a valid lease: the top
// machine bit is set. Fallback IDs and leased IDs are never equal. Every ID of
// a standalone generator is a fallback ID.
func (id ID) IsFallback() bool { return defaultLayout.IsFallback(id) }

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

// Value implements [driver.Valuer]: an ID is stored as a 64-bit integer (SQL
// BIGINT). A negative ID, which no generator makes, is [ErrInvalid].
func (id ID) Value() (driver.Value, error) {
	if id < 0 {
		return nil, fmt.Errorf("%w %d: negative; the top bit of an ID is 0", ErrInvalid, int64(id))
	}
	return int64(id), nil
}

// Scan implements [database/sql.Scanner]. It reads an integer, and text in the
// form of [Parse]. NULL is an error: scan into [database/sql.Null] of ID where
// a column may be NULL. On error *id is unchanged.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return fmt.Errorf("%w %d: negative; the top bit of an ID is 0", ErrInvalid, v)
		}
		*id = ID(v)
		return nil
	case string:
		return id.assign(parseID(v))
	case []byte:
		return id.assign(parseID(v))
	case nil:
		return fmt.Errorf("%w: NULL; scan into sql.Null[idgen.ID] where a column may be NULL", ErrInvalid)
	default:
		return fmt.Errorf("%w: cannot scan %T; the column must be an integer or text", ErrInvalid, src)
	}
}
