// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"runtime"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// attempt is what a transaction does between two resets: its futures keep it
// alive, and with it the client's transaction. When the last of them is garbage,
// so are the results that nobody took.
type attempt struct {
	handle
	tr      fdb.Transaction // keeps handle valid
	futures *futures
	group   *group // nil: handle belongs to this transaction alone
}

// newAttempt returns an attempt on a transaction of the client, which a group
// shares, if there is one.
func newAttempt(h handle, tr fdb.Transaction, g *group) *attempt {
	return &attempt{handle: h, tr: tr, futures: &futures{}, group: g}
}

// await returns the future of c.
func await[T any](a *attempt, c *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	return kv.NewFuture[T](newPending(a, kept{c: c}, what, take))
}

func newPending[T any](a *attempt, k kept, what string, take func(*cFuture) (T, cCode)) *pending[T] {
	return &pending[T]{attempt: a, owner: a.futures, slot: a.futures.add(k), what: what, take: take, c: k.c}
}

// awaitWatch returns a future that does not keep its transaction alive, and is
// freed when it is garbage.
func awaitWatch(owner *futures, c *cFuture) kv.Future[struct{}] {
	p := &pending[struct{}]{owner: owner, slot: owner.add(kept{c: c}), what: "watch", take: takeNothing, c: c}
	p.cleanup = runtime.AddCleanup(p, owner.abandon, p.slot)
	return kv.NewFuture[struct{}](p)
}

// leave gives up the reads of an attempt that shares its handle.
func (a *attempt) leave() {
	a.futures.giveUp(newError(kv.CodeTransactionCancelled, "a read of a transaction that has ended"))
}

// repeat makes another transaction of the client, a new one, read at the
// attempt's version what the attempt has read. Its futures belong to the attempt,
// whose end ends the waiting for them.
func (a *attempt) repeat(tr fdb.Transaction, reads []sharedRead) error {
	version, err := awaitShared(a, handle.readVersion, "GetReadVersion", takeNumber).Get(context.Background())
	if err != nil {
		return err
	}
	other := &attempt{handle: handleOf(tr), tr: tr, futures: a.futures}
	other.setReadVersion(version)
	for _, read := range reads {
		again := await(other, read.call(other.handle, read.snapshot), "repeating a read", takeNothing)
		if _, err := again.Get(context.Background()); err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

// metadataVersion reads the metadata version of the attempt's group.
func (a *attempt) metadataVersion() kv.Future[[]byte] {
	p := kv.NewPromise[[]byte]()
	if !a.group.await(p) {
		return kv.Resolved(a.group.metadataVersion())
	}
	a.futures.queue(promised{p})
	return p.Future()
}

// promised is a read whose result another goroutine delivers.
type promised struct{ *kv.Promise[[]byte] }

func (promised) issue() {}

func (p promised) fail(err error) { p.Resolve(nil, err) }
