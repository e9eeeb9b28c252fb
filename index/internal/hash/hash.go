// SPDX-License-Identifier: Apache-2.0

// Package hash has the hash by which layouts spread keys: the shards of
// scattered keys and the heights of ranked elements. It is a part of the layout
// of stored data and never changes.
//
// # Concurrency and transactions
//
// It has no state.
package hash

// Of returns the 64-bit hash of b: FNV-1a (Fowler, Noll, Vo), whose uppermost bits
// hardly depend on the last bytes of a short key, finished by the mixing steps of
// MurmurHash3's fmix64 (Appleby), which make every bit depend on every other.
func Of(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
