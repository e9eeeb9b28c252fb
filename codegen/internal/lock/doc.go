// SPDX-License-Identifier: Apache-2.0

// Package lock compares a model with the persist.lock of its package: it assigns
// field numbers, computes the next lock, and refuses a change that stored data, or
// programs that still run, would not survive.
//
// The tables of internal/schema say which changes are allowed. This package reports
// where in the source a change is, and what its author can do.
package lock
