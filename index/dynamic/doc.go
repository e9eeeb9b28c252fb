// SPDX-License-Identifier: Apache-2.0

// Package dynamic computes the index entries of records from their stored bytes,
// without the Go code of their type. The header of a store has the layout of every
// index and the schema of every program that wrote there; [Compile] makes a
// [Program] of the two:
//
//	p, err := dynamic.Compile("Order_Status", "Status:string", schemaOfTheHeader)
//	…
//	err = p.Entries(payload, entries) // payload: the protobuf message of the record
//
// So a program maintains an index that a newer program has added to a store, and a
// tool that has no Go types writes records. The keys are byte for byte those of the
// code that persistgen writes; a test compares the two for random records of many
// types.
//
// What a key depends on must be in the layout or in the schema. Compile refuses
// everything else with an *[Error]: kinds of values whose bytes only Go code can
// make, words that this version does not know, fields that may or may not be null.
//
// # Concurrency and transactions
//
// A Program is immutable and may be used by several goroutines. It reads and writes
// no database.
package dynamic
