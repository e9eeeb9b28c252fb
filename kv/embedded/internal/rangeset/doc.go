// SPDX-License-Identifier: Apache-2.0

// Package rangeset is a set of keys that is kept as ranges: the keys that a
// transaction knows, or the keys that are known to have no values. Snapshots take
// constant time and never change; one goroutine at a time may change a set.
package rangeset
