// SPDX-License-Identifier: Apache-2.0

// Package dynamictest compares the entries that the code of persistgen makes of a
// type's records with those that package dynamic makes of their bytes. A test of
// a package with generated code says:
//
//	func TestEntriesFromBytes(t *testing.T) {
//		lock, err := orderSchema.Parsed()
//		…
//		dynamictest.Compare(t, dynamictest.Code{
//			Lock: lock, Indexes: orderSchema.Indexes, Encode: orderSchema.Encode, Entries: orderSchema.Entries,
//		}, new(Order))
//	}
package dynamictest
