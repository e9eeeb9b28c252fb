// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"runtime"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// attempt is what a transaction does between two resets. Its futures keep it
// alive, and with it the client's transaction. When the last of them is garbage,
// the results that no caller took are freed.
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
	return kv.NewFuture[T](newPendingResult(a, keptFuture{c: c}, what, take))
}

func newPendingResult[T any](a *attempt, k keptFuture, what string, take func(*cFuture) (T, cCode)) *pendingResult[T] {
	return &pendingResult[T]{attempt: a, owner: a.futures, slot: a.futures.add(k), what: what, take: take, c: k.c}
}

// awaitWatch returns a future that does not keep its transaction alive, and is
// freed when it is garbage.
func awaitWatch(owner *futures, c *cFuture) kv.Future[struct{}] {
	p := &pendingResult[struct{}]{owner: owner, slot: owner.add(keptFuture{c: c}), what: "watch", take: takeNothing, c: c}
	p.cleanup = runtime.AddCleanup(p, owner.destroyAbandoned, p.slot)
	return kv.NewFuture[struct{}](p)
}

// giveUpReads gives up the reads of an attempt that shares its handle.
func (a *attempt) giveUpReads() {
	a.futures.giveUp(newError(kv.CodeTransactionCancelled, "a read of a transaction that has ended"))
}

// repeatReads makes the attempt's reads again, at the attempt's version, in a new
// transaction of the client. The new futures belong to the attempt, so repeatReads
// stops waiting for them when the attempt ends.
func (a *attempt) repeatReads(tr fdb.Transaction, reads []sharedRead) error {
	version, err := awaitShared(a, handle.readVersion, "GetReadVersion", takeNumber).Get(context.Background())
	if err != nil {
		return err
	}
	other := &attempt{handle: handleOf(tr), tr: tr, futures: a.futures}
	other.setReadVersion(version)
	for _, read := range reads {
		again := await(other, read.call(other.handle, read.snapshot), "repeating a read", takeNothing)
		if _, err := again.Get(context.Background()); err != nil && !isRefusal(err) {
			return err
		}
	}
	return nil
}

// metadataVersion reads the metadata version of the attempt's group.
func (a *attempt) metadataVersion() kv.Future[[]byte] {
	p := kv.NewPromise[[]byte]()
	if !a.group.awaitMetadata(p) {
		return kv.Resolved(a.group.metadataVersion())
	}
	a.futures.queue(promisedRead{p})
	return p.Future()
}

// promisedRead is a read whose result another goroutine delivers.
type promisedRead struct{ *kv.Promise[[]byte] }

func (promisedRead) issue() {}

func (p promisedRead) fail(err error) { p.Resolve(nil, err) }
