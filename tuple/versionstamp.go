// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Versionstamp is a position in the order of all commits: the ten bytes that
// the database gives to a transaction, and a number that the transaction gives
// to its own writes. Versionstamps sort in the order of commits.
type Versionstamp struct {
	Transaction [10]byte
	User        uint16
}

const (
	stampSize       = 12 // bytes of a packed versionstamp after its code
	stampOffsetSize = 4  // bytes of the offset that a versionstamped key ends with
)

var unknownTransaction = [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Incomplete returns a versionstamp whose transaction bytes the database fills
// in when it commits; see [Tuple.PackVersionstamped]. Number the stamps of one
// transaction by user, or they are all the same.
func Incomplete(user uint16) Versionstamp {
	return Versionstamp{Transaction: unknownTransaction, User: user}
}

// IsIncomplete reports whether the transaction bytes are still to be filled in.
func (v Versionstamp) IsIncomplete() bool { return v.Transaction == unknownTransaction }

// String returns the transaction bytes in hex and the user number, like
// Versionstamp(00000102030405060708, 7).
func (v Versionstamp) String() string {
	if v.IsIncomplete() {
		return fmt.Sprintf("Versionstamp(incomplete, %d)", v.User)
	}
	return fmt.Sprintf("Versionstamp(%s, %d)", hex.EncodeToString(v.Transaction[:]), v.User)
}

// AppendVersionstamp appends a versionstamp, incomplete or not. The ten bytes
// that a commit would fill in begin one byte after len(dst).
func AppendVersionstamp(dst []byte, v Versionstamp) []byte {
	dst = append(append(dst, codeVersionstamp), v.Transaction[:]...)
	return binary.BigEndian.AppendUint16(dst, v.User)
}

// ReadVersionstamp decodes the versionstamp that b begins with.
func ReadVersionstamp(b []byte) (v Versionstamp, rest []byte, err error) {
	if err := readFixed(b, codeVersionstamp, 1+stampSize); err != nil {
		return Versionstamp{}, nil, err
	}
	return versionstampAt(b), b[1+stampSize:], nil
}

func versionstampAt(b []byte) Versionstamp {
	return Versionstamp{Transaction: [10]byte(b[1:11]), User: binary.BigEndian.Uint16(b[11:])}
}

// stamps collects the incomplete versionstamps met while packing.
type stamps struct {
	count  int
	offset int // of the last one's transaction bytes
}
