// SPDX-License-Identifier: Apache-2.0

package rangeread

// Unlimited is the number of rows or bytes that sets no limit.
const Unlimited = -1

// Limits are what a range read may still take, as FoundationDB's client counts
// (GetRangeLimits in FDBTypes.h).
type Limits struct {
	Rows  int
	Bytes int
	Least int // as long as so many rows are missing, bytes do not end the read
}

// What a pair counts beside its bytes: to the client, and to a storage server,
// which counts the pointers of its own structures.
const (
	ClientPairCost = 8
	ServerPairCost = 24
)

// ReplyBytes is how much a storage server answers at a time (REPLY_BYTE_LIMIT).
const ReplyBytes = 80_000

// Count counts a pair of so many bytes.
func (l *Limits) Count(size int) {
	l.Least = max(0, l.Least-1)
	if l.Rows != Unlimited {
		l.Rows--
	}
	if l.Bytes != Unlimited {
		l.Bytes = max(0, l.Bytes-size-ClientPairCost)
	}
}

// Reached reports whether the read may take no more pairs.
func (l *Limits) Reached() bool { return l.Rows == 0 || l.Bytes == 0 && l.Least == 0 }
