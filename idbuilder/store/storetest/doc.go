// SPDX-License-Identifier: Apache-2.0

// Package storetest is the contract of [store.Store] as tests, and stores that
// misbehave for the tests of their users.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Suite{
//			Open: func(t *testing.T, name string) store.Store { … },
//		})
//	}
//
// [Memory] is a store for tests, [Faulty] one whose answers are lost, late or
// errors.
package storetest
