// SPDX-License-Identifier: Apache-2.0

// Package storetest has the contract of [store.Store] as tests, and faulty stores
// for the tests of packages that use one.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Suite{
//			Open: func(t *testing.T, name string) store.Store { … },
//		})
//	}
//
// [Memory] is a store for tests. The answers of a [Faulty] store are lost, late or
// errors.
package storetest
