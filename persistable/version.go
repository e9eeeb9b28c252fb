// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"encoding/hex"
	"fmt"
)

// Version tells which of a record's states one has: the versionstamp of the commit
// that wrote it (ten bytes) and the number of the record's write within that
// transaction (two bytes), both big-endian, so that later versions are greater by their
// bytes. The zero Version is that of no record.
//
// A field of this type in a persistable struct makes the records ordered by their
// last change, which is what the change feed reads:
//
//	_ persistable.Version       // the feed alone
//	Version persistable.Version // the feed, and the field is filled when a record is read
//
// The field is not stored with the record. The version of a record that a
// transaction writes is not known before it commits.
type Version [12]byte

// IsZero reports whether v is the version of no record.
func (v Version) IsZero() bool { return v == Version{} }

// String returns the version as 24 hexadecimal digits.
func (v Version) String() string { return hex.EncodeToString(v[:]) }

// MarshalText returns what String returns.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Version) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(v) || len(text)%2 != 0 {
		return fmt.Errorf("persistable: %d digits are no version, which has %d", len(text), hex.EncodedLen(len(v)))
	}
	read := Version{}
	if _, err := hex.Decode(read[:], text); err != nil {
		return fmt.Errorf("persistable: %q is no version: %w", text, err)
	}
	*v = read
	return nil
}
