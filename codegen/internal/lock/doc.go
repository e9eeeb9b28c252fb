// SPDX-License-Identifier: Apache-2.0

// Package lock brings a model together with the persist.lock of its package: it
// assigns field numbers, computes the next lock, and refuses a change that stored
// data, or programs that still run, would not survive.
//
// What is allowed stands in the tables of internal/schema. This package says where
// in the source a change is, and what its author can do.
package lock
