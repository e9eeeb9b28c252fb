// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"database/sql/driver"
	"fmt"
)

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
