// SPDX-License-Identifier: Apache-2.0

// Package remote lets the processes of an example or of a test share the embedded engine,
// which one process has for itself: that process serves it over a connection, and the others
// get a [kv.Database] of it.
//
//	go remote.Serve(ctx, listener, engine)
//
//	db, err := remote.Dial(address)
//	defer db.Close()
//
// It is for demonstrations on one machine: it checks no identity. Processes that need a
// database over the network run FoundationDB, and change one line.
//
// Calls travel by net/rpc. Those of a transaction are numbered, and the server starts
// them in that order, so that reads and writes see each other as on the engine itself.
// Transactions and watches end with their connection.
package remote
