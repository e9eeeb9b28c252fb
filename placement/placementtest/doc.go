// SPDX-License-Identifier: Apache-2.0

// Package placementtest has the contract of a home of locks and entries,
// [driver.Lock] and [driver.Storage], as tests.
//
//	func TestHome(t *testing.T) {
//		placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
//			home, err := memory.New(memory.Options{})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return placementtest.Home{Lock: home, Storage: home, TTL: memory.DefaultTTL}
//		})
//	}
//
// The laws below "protoactor" and "orleans" are the cases of Proto.Actor's
// IdentityStorageTests and of Orleans' GrainDirectoryTests, by their names, in
// terms of this contract.
package placementtest
