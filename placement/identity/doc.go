// SPDX-License-Identifier: Apache-2.0

// Package identity has the lookup of virtual actors as an interface that a program
// polls: [Lookup], and its implementation [Partition] over a
// [placement.Coordinator]. A program that wants to wait for the answer uses package
// driver.
package identity
