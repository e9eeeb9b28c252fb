// SPDX-License-Identifier: Apache-2.0

package index

// VersionSize is the length of a version in bytes: the versionstamp of the commit and
// the number of the record within it, big-endian.
const VersionSize = 12

// The values of entries of the kind Version.
var (
	putEntry    = []byte{0}
	deleteEntry = []byte{1}
)

// VersionEntry is an entry of an index of the kind Version: the last change of one record.
type VersionEntry struct {
	Version []byte
	ID      []byte // packed
	Deleted bool   // a tombstone
}
