// SPDX-License-Identifier: Apache-2.0

// Package keys has the functions on keys and key ranges that all parts of the
// engine share. None modifies its arguments. Where a result shares memory with an
// argument, its comment says so.
package keys
