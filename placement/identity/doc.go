// SPDX-License-Identifier: Apache-2.0

// Package identity has the lookup of virtual actors as an interface that a
// program polls: [Lookup], and [Partition], which is one over a
// [placement.Coordinator]. A program that would rather wait uses package driver.
package identity
