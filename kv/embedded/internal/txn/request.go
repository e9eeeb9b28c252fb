// SPDX-License-Identifier: Apache-2.0

// Package txn has the types that a transaction gives to the committer, and the
// outcome that it gets back. Both import it.
package txn

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Request is a transaction on its way to the committer (FoundationDB's
// CommitTransactionRef). The transaction fills it in; from Commit until the Finisher
// is told, only the engine uses it.
type Request struct {
	ReadVersion int64
	Reads       []kv.KeyRange // read conflict ranges
	Writes      []kv.KeyRange // write conflict ranges
	Mutations   []mutation.Mutation
	Watches     []*watch.Watch // to be armed when the request has committed
	Bytes       int64          // in memory, about
	Undated     bool           // the read version does not matter
	Quiet       bool           // not every write is in a write conflict range
	Pointwise   bool           // the keys of the mutations are the write conflict ranges
	Reports     bool           // the outcome lists the reads that conflict
	Finisher    Finisher
}

// Finisher is told the outcome of a request.
type Finisher interface {
	// Finish is called once for each request, by any goroutine that holds none of the
	// engine's locks. It takes no lock of the transaction and does not wait.
	Finish(Outcome)
}

// Outcome is what became of a request.
type Outcome struct {
	Version   int64         // with Index the versionstamp of the commit
	Index     uint16        // the place within the version
	Err       error         // why nothing was committed; nil: it was
	Conflicts []kv.KeyRange // reads that conflict, if the request has Reports
}
