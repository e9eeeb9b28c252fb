// SPDX-License-Identifier: Apache-2.0

// Package fdbkv is the engine of FoundationDB clusters, over FoundationDB's C client.
// A program that ran on package embedded changes only its Open:
//
//	db, err := fdbkv.Open("/etc/foundationdb/fdb.cluster") // "": as FoundationDB's tools find it
//	if err != nil {
//		return err // ErrNotBuilt: see Building
//	}
//	defer db.Close()
//	err = db.Transact(ctx, func(tx kv.Transaction) error {
//		tx.Set([]byte("hello"), []byte("world"))
//		return nil
//	}) // when it returns nil the cluster has the write on its disks
//
// # Building
//
// The package needs cgo, a C compiler, FoundationDB's client library (libfdb_c,
// 7.3 or later) with its headers, and a build tag:
//
//	CGO_ENABLED=1 go build -tags foundationdb
//
// Built otherwise the package has no engine: Open returns [ErrNotBuilt], and
// programs that let their users choose an engine still build everywhere. If the
// client is not in the system's folders, set CGO_CFLAGS and CGO_LDFLAGS.
//
// # Contract
//
// Transactions behave as package kv says because the cluster does; the package only
// adapts the interface. It passes options, versionstamps, atomic operations,
// watches and conflict ranges to the client as they are, and the client decides how
// long retries wait. Errors are *[kv.Error] with the client's code, and also match
// [fdb.Error]. The API version is [APIVersion].
//
// # Futures and contexts
//
// Reads are sent when they are started, with one exception: while more than eight
// functions of ReadTransact are running, they share transactions of the client, and
// the first read of each is sent when the read version of the group before has
// arrived. No goroutine and no thread waits for a read in the client: the client
// calls back if a goroutine waits for the future, and the goroutine stops waiting
// at once when its context ends. A deadline of Transact's context cancels the
// transaction in the client.
//
// # Memory
//
// Go's garbage collector does not see the client's memory. Transact and ReadTransact
// free what a transaction holds of it when they return, [kv.Retry] does so for a
// transaction of Begin, and [kv.Transaction.Release] where a program calls neither. A transaction
// of Begin that is not released is freed when it and its futures are garbage, and
// earlier, when it is cancelled or has committed, if it wrote more than 1 MiB. A
// watch outlives its transaction.
//
// # Transactions of the official binding
//
// [Wrap] runs layers of this module in a transaction that a program made with
// the binding; [Unwrap] is the way back.
//
// # Process
//
// FoundationDB's client has one network thread a process, which the first Open
// starts with its [Network] options and which ends with the process. Databases can
// be opened and closed at will.
//
// [fdb.Error]: https://pkg.go.dev/github.com/apple/foundationdb/bindings/go/src/fdb#Error
package fdbkv

import "errors"

// ErrNotBuilt is returned by [Open] in programs that were built without
// FoundationDB's client.
var ErrNotBuilt = errors.New("fdbkv: this program was built without FoundationDB: install the FoundationDB client 7.3 " +
	"(package foundationdb-clients: libfdb_c and its headers) and a C compiler, and build with CGO_ENABLED=1 and -tags foundationdb")
