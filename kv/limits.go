// SPDX-License-Identifier: Apache-2.0

package kv

import "time"

// The limits of FoundationDB 7.3, enforced by every engine with the error
// codes named here.
const (
	MaxKeySize         = 10_000          // bytes of a key; beyond it CodeKeyTooLarge
	MaxValueSize       = 100_000         // bytes of a value; beyond it CodeValueTooLarge
	MaxTransactionSize = 10_000_000      // bytes of keys, values and conflict ranges; beyond it CodeTransactionTooLarge
	MaxTransactionAge  = 5 * time.Second // from read version to last read or commit; beyond it CodeTransactionTooOld
	MaxWatches         = 10_000          // outstanding watches of one Database; beyond it CodeTooManyWatches
	VersionstampSize   = 10              // bytes of a transaction's versionstamp: 8 version + 2 batch order, big endian
	VersionsPerSecond  = 1_000_000       // about how fast versions advance
)

// MetadataVersionKey is the one system key that ordinary transactions may use.
// Its value is a versionstamp, written with [SetVersionstampedValue] only
// (with 14 zero bytes as operand). It arrives with the read version:
// reading it costs no round trip, so caches of rarely changed data are
// validated by it.
const MetadataVersionKey = "\xff/metadataVersion"
