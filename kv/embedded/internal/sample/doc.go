// SPDX-License-Identifier: Apache-2.0

// Package sample estimates the sizes of key ranges, as FoundationDB does, from a
// few of the keys.
package sample
