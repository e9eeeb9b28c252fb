// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

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
