// SPDX-License-Identifier: Apache-2.0

// Package model describes what persistgen found in a package: its records, the
// structs that are stored as messages, their fields with kinds, and their indexes.
//
// Package collector makes a model, package lock assigns the field numbers, and
// packages emitter and cost read it. The model also has the Go names of the code
// that is generated for a record.
package model
