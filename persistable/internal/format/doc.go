// SPDX-License-Identifier: Apache-2.0

// Package format holds the formats of the values that a store keeps: the header
// of a record and the chunks behind it ([Record]), and the header of the store
// itself ([Catalog]). docs/layout.md shows their bytes.
//
// All functions may be called concurrently, but only one goroutine at a time may
// change a [Catalog].
package format
