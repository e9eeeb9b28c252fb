// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// Mutation is one write of a commit. Under [OpSet] a nil value clears the key.
type Mutation struct {
	Op    kv.MutationType
	Key   []byte
	Value []byte // the end of the range under OpClearRange
}

// The mutations that are not atomic operations, with FoundationDB's numbers.
const (
	OpSet        kv.MutationType = 0
	OpClearRange kv.MutationType = 1
)

// Covers reports whether the mutation writes key.
func (m *Mutation) Covers(key []byte) bool {
	if m.Op == OpClearRange {
		return bytes.Compare(m.Key, key) <= 0 && bytes.Compare(key, m.Value) < 0
	}
	return bytes.Equal(m.Key, key)
}

// NeedsValue reports whether what the mutation comes to depends on the value
// before it.
func (m *Mutation) NeedsValue() bool {
	return !IsIndependent(m.Op) && m.Op != OpClearRange
}

// IsIndependent reports whether the result of an operation on a key does not
// depend on the value before it.
func IsIndependent(op kv.MutationType) bool {
	return op == OpSet || op == kv.SetVersionstampedKey || op == kv.SetVersionstampedValue
}
