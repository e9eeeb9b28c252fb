// SPDX-License-Identifier: Apache-2.0

// Package clustertest has status documents that clusters of FoundationDB 7.3.79 gave, for tests
// without a cluster. Identities are numbered, and what package cluster does not read is shortened.
//
//	db := clustertest.Pretend(engine, clustertest.Killed)
//	status, err := cluster.Read(ctx, db) // of a cluster that has lost a process
package clustertest

import (
	"context"
	"embed"

	"github.com/kazahana-db/kazahana/kv"
)

// The names of the documents.
const (
	Single      = "single"      // one process, which is healthy
	Double      = "double"      // three processes, which are healthy
	Killed      = "killed"      // one of the three was killed, and the others have all copies
	Throttled   = "throttled"   // one process some seconds after its start, with a throttled tag
	Unavailable = "unavailable" // two of three processes were killed
)

//go:embed recorded
var recorded embed.FS

// Document returns the document of a name.
func Document(name string) []byte {
	document, err := recorded.ReadFile("recorded/" + name + ".json")
	if err != nil {
		panic(err) // there is none of that name
	}
	return document
}

// Pretend returns the database of an engine with the status of a cluster.
func Pretend(db kv.Database, name string) kv.Database { return pretender{db, Document(name)} }

type pretender struct {
	kv.Database
	document []byte
}

// ReadTransact implements [kv.ReadTransactor].
func (p pretender) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return p.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(transaction{tx, p.document}) })
}

type transaction struct {
	kv.ReadTransaction
	document []byte
}

// Get implements [kv.ReadTransaction].
func (t transaction) Get(key []byte) kv.Future[[]byte] {
	if string(key) == "\xff\xff/status/json" {
		return kv.Resolved(t.document, nil)
	}
	return t.ReadTransaction.Get(key)
}
