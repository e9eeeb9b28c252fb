// SPDX-License-Identifier: Apache-2.0

// Package lease is the server's side of leases: which positions of the ID space
// are granted to whom, from when, and until when.
package lease
