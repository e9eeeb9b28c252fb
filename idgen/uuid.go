// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// UUID is a universally unique identifier (RFC 9562), its 16 bytes in network
// order, so that UUIDs of version 7 sort by time as bytes. [UUIDSource] and
// [NewUUID] make them. The zero UUID, RFC 9562's nil UUID, means "none yet".
//
// As text and in JSON a UUID is "018f3b1c-5a00-7c3e-8a1b-2f4d6e8091a2"; in SQL it
// is that text.
//
// A UUID is a plain value: copy it, compare it with ==, use it as a map key.
type UUID [16]byte

// uuidTextLen is the length of a UUID's text.
const uuidTextLen = 36

// String returns the 36 characters of the RFC's form in lower case.
func (u UUID) String() string {
	var text [uuidTextLen]byte
	u.encode(text[:])
	return string(text[:])
}

// IsZero reports whether the UUID is zero, which stands for "none yet".
func (u UUID) IsZero() bool { return u == UUID{} }

// Compare returns -1, 0 or +1 as u sorts before, like or after other, byte by
// byte.
func (u UUID) Compare(other UUID) int { return bytes.Compare(u[:], other[:]) }

// Version returns the version number of the UUID, 0–15: 7 for those of this
// package.
func (u UUID) Version() int { return int(u[6] >> 4) }

// Time returns the moment that a UUID of version 7 carries, in UTC with
// millisecond precision. For other versions it returns the zero time.
func (u UUID) Time() time.Time {
	if u.Version() != 7 || u[8]>>6 != 0b10 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}

// encode writes the text form into dst, which has uuidTextLen bytes.
func (u UUID) encode(dst []byte) {
	hex.Encode(dst[0:8], u[0:4])
	hex.Encode(dst[9:13], u[4:6])
	hex.Encode(dst[14:18], u[6:8])
	hex.Encode(dst[19:23], u[8:10])
	hex.Encode(dst[24:36], u[10:16])
	dst[8], dst[13], dst[18], dst[23] = '-', '-', '-', '-'
}

// ParseUUID reads a UUID of any version from its 36 characters, hexadecimal
// digits in either case with hyphens in four places. Braces, "urn:uuid:" and
// forms without hyphens are refused. Errors are [ErrInvalid].
func ParseUUID(s string) (UUID, error) { return parseUUID(s) }

func parseUUID[T string | []byte](s T) (UUID, error) {
	if len(s) != uuidTextLen {
		return UUID{}, fmt.Errorf("%w %s: %d bytes; a UUID has 36 characters", ErrInvalid, quote(s), len(s))
	}
	var digits [32]byte
	n := 0
	for i := range uuidTextLen {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return UUID{}, fmt.Errorf("%w %s: byte %d is %q where a UUID has a hyphen", ErrInvalid, quote(s), i, s[i])
			}
		default:
			digits[n] = s[i]
			n++
		}
	}
	var u UUID
	if _, err := hex.Decode(u[:], digits[:]); err != nil {
		return UUID{}, fmt.Errorf("%w %s: %w; a UUID is written in hexadecimal digits", ErrInvalid, quote(s), err)
	}
	return u, nil
}

// AppendText appends the 36 characters of [UUID.String] to b. It implements
// [encoding.TextAppender]; the error is always nil.
func (u UUID) AppendText(b []byte) ([]byte, error) {
	n := len(b)
	b = append(b, make([]byte, uuidTextLen)...)
	u.encode(b[n:])
	return b, nil
}

// MarshalText returns the 36 characters of [UUID.String]; the error is always
// nil.
func (u UUID) MarshalText() ([]byte, error) { return u.AppendText(make([]byte, 0, uuidTextLen)) }

// UnmarshalText reads the form of [ParseUUID]. On error *u is unchanged.
func (u *UUID) UnmarshalText(text []byte) error { return u.assign(parseUUID(text)) }

// MarshalJSON returns the 36 characters as a JSON string; the error is always
// nil.
func (u UUID) MarshalJSON() ([]byte, error) {
	b, err := u.AppendText(append(make([]byte, 0, uuidTextLen+2), '"'))
	return append(b, '"'), err
}

// UnmarshalJSON reads a JSON string in the form of [ParseUUID]. null leaves *u
// unchanged. Errors are [ErrInvalid].
func (u *UUID) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%w %s: in JSON a UUID is a string: %w", ErrInvalid, quote(data), err)
	}
	return u.assign(parseUUID(s))
}

// Value implements [driver.Valuer]: a UUID is stored as its 36 characters,
// which the uuid and text columns of every database take.
func (u UUID) Value() (driver.Value, error) { return u.String(), nil }

// Scan implements [database/sql.Scanner]. It reads 36 characters in the form of
// [ParseUUID], as string or bytes, and 16 raw bytes. NULL is an error: scan into
// [database/sql.Null] of UUID where a column may be NULL. On error *u is
// unchanged.
func (u *UUID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return u.assign(parseUUID(v))
	case []byte:
		if len(v) == len(u) {
			copy(u[:], v)
			return nil
		}
		return u.assign(parseUUID(v))
	case nil:
		return fmt.Errorf("%w: NULL; scan into sql.Null[idgen.UUID] where a column may be NULL", ErrInvalid)
	default:
		return fmt.Errorf("%w: cannot scan %T; the column must be a UUID, text or 16 bytes", ErrInvalid, src)
	}
}

func (u *UUID) assign(v UUID, err error) error {
	if err != nil {
		return err
	}
	*u = v
	return nil
}
