// SPDX-License-Identifier: Apache-2.0

// Package leasetest checks stores of leases, and what stands before them: one
// suite for every implementation of [lease.Store].
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, leasetest.Suite{
//			Open: func(t *testing.T, name string) lease.Store {
//				return openMyStore(t, name)
//			},
//		})
//	}
//
// A store needs three things that are easily forgotten: Open returns the same data
// again for a name, also while an earlier handle of it is open, so that handles
// lock each other out; errors of the function are returned and change nothing;
// and the store is a [lease.Enumerator]. The tests Store and StoreSerializable fail
// first if the map is wrong; the others then check what a server makes of it.
//
// Each lease that the suite is granted goes into a [Ledger], a naive model that
// knows every lease ever granted and refuses one that shares a millisecond of a
// position with another. Time in the suite is its own ([AtTime]), except where
// other processes take part.
//
// It is for tests; everything in it but Run may be used by several goroutines.
package leasetest
