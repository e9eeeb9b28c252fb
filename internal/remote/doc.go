// SPDX-License-Identifier: Apache-2.0

// Package remote lets the processes of an example or of a test share an embedded
// engine, which only one process can open. That process serves the engine over a
// connection, and the others use it as a [kv.Database].
//
//	go remote.Serve(ctx, listener, engine)
//
//	db, err := remote.Dial(address)
//	defer db.Close()
//
// It is for demonstrations on one machine, because it checks no identity. Programs
// that need a database over the network use FoundationDB; they change one line.
//
// Calls are sent by net/rpc. The calls of a transaction are numbered, and the
// server starts them in that order, so that reads see the same writes as on the
// engine itself. Transactions and watches end with their connection.
package remote
