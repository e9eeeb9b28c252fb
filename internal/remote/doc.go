// SPDX-License-Identifier: Apache-2.0

// Package remote lets other processes use a database that one process has open, such as an embedded engine, which
// only one process can open. That process serves it over connections, and the others use it as a [kv.Database].
//
// A program with a page over its database serves it to the command kazahana, at an address below that page:
//
//	served := remote.NewHandler(engine, remote.Embedded, writes) // the caller checks the token of a request
//	defer served.Close()
//
//	db, err := remote.Attach(ctx, remote.AttachOptions{URL: "https://admin.example.com/studio/", Token: token})
//	defer db.Close()
//
// The processes of an example or of a test do without HTTP and tokens:
//
//	go remote.Serve(ctx, listener, engine)
//
//	db, err := remote.Dial(address)
//	defer db.Close()
//
// Programs that share a database over the network use FoundationDB; they change one line.
//
// # Calls
//
// A connection carries the calls of all transactions in package gob's encoding. The server starts them in the order in
// which they were sent, so that reads see the same writes as on the engine itself, and answers each when its result is there.
// Transactions and watches end with their connection; a commit that is under way goes on, and its client does not
// learn its outcome ([kv.ErrOutcomeUnknown]).
//
// # Bounds
//
// A transaction of which nothing is asked for [kv.MaxTransactionAge] is cancelled, and fails with
// CodeTransactionTooOld. A connection has bounds for its transactions, the bytes they write, and the calls that wait. A
// handler has one for connections.
package remote
