// SPDX-License-Identifier: Apache-2.0

// Package memory keeps locks and entries in the memory of one process: for tests,
// simulations and programs whose members are all in that process.
//
//	home, err := memory.New(memory.Options{})
//	d, err := driver.New(coordinator, driver.Homes{Lock: home, Storage: home, Executor: executor}, driver.Options{})
//
// All drivers of a cluster use the same [Home]. It has two modes:
//
//   - By default a claim is a lock that lapses after [Options].TTL, and the entry
//     is loaded, stored and removed apart from it, as in the specification:
//     a coordinator loads after the claim and releases after the store.
//   - With [Options].Kept the claim is the activation, as in package kvstore: it
//     carries the entry, lasts as long as its owner lives, and [Home.Remove] ends
//     it. [Home.Evict] says that an owner is dead.
//
// # Time
//
// A home reads no clock. A lock lapses when a command's Now, or the ObservedAt of an
// entry to be stored, is at or after the lock's ExpiresAt. A clock that is ahead can
// therefore take a lock early; the epoch then refuses what the earlier owner stores.
//
// # Epochs
//
// One counter gives the epochs of all keys. So a free key takes no memory, and its
// next epoch is still greater than its earlier ones. The counter begins at 1 in
// every Home: epochs of two homes cannot be compared.
package memory
