// SPDX-License-Identifier: Apache-2.0

package index

import (
	"crypto/sha256"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Violation is a record that has the values of a unique index which another
// record owns, found by a build.
type Violation struct {
	Key    []byte // of the unique entry
	Record []byte // the packed id of the record without an entry
	Owner  []byte // the packed id of the owner when it was found

	at []byte // the violation's own key
}

// maxViolationID is the length in bytes up to which the key of a violation has
// the record's id itself, so that violations are in the order of their records.
const maxViolationID = 1000

// violationKey is where a build records that the record id also has the values
// of a unique key: the id and a digest of the values. Both values and id may be
// nearly as long as a key can be, so that a key has no room for them: a long id
// is a digest as well.
func violationKey(ix *Index, key, id []byte) []byte {
	own := slices.Clone(ix.ViolationPrefix)
	if len(id) <= maxViolationID {
		own = append(own, id...)
	} else {
		own = appendDigest(own, id)
	}
	return appendDigest(own, key[len(ix.Prefix):])
}

// appendDigest appends a tuple's element of the first 16 bytes of b's SHA-256.
func appendDigest(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return tuple.AppendBytes(dst, sum[:16])
}

// recordViolation writes a violation. Its value has what its key has no room
// for, as a tuple of three byte strings: the packed values, the record's packed
// id, the owner's packed id.
func recordViolation(tx kv.Transaction, ix *Index, key, id, owner []byte) {
	value := tuple.AppendBytes(nil, key[len(ix.Prefix):])
	value = tuple.AppendBytes(value, id)
	value = tuple.AppendBytes(value, owner)
	tx.Set(violationKey(ix, key, id), value)
}
