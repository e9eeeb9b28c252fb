// SPDX-License-Identifier: Apache-2.0

// Package placement decides where virtual actors are active, so that each is
// active at one place. It does no I/O.
package placement
