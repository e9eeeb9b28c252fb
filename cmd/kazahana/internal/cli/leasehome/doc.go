// SPDX-License-Identifier: Apache-2.0

// Package leasehome opens the store of leases that the flag --leases names: in
// memory, a file, Redis, a database or behind a lease server.
package leasehome
