// SPDX-License-Identifier: Apache-2.0

// Package leasehome opens the place where leases are: in memory, a file, Redis, a
// database or behind a lease server, as the flag --leases says.
package leasehome
