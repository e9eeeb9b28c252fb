// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// membership is the part of a transaction that may read in a group's transaction of
// the client. It joins the group by its first read. It gets a transaction of the
// client for itself by the first call that is not a read: that one reads at the
// group's version, if the transaction has joined it, and has made the same reads.
// So a program sees no difference. The second attempt of a
// retry loop shares nothing.
type membership struct {
	mu     sync.Mutex // held while shared is joined, and while own waits
	shared atomic.Pointer[attempt]
	reads  []sharedRead // those made in the group
}

// sharedRead is a read that was made in a group, as a snapshot read.
type sharedRead struct {
	call     func(h handle, snapshot bool) *cFuture
	snapshot bool // it was asked for so
}

// beginReading returns a transaction for a function of ReadTransact. A default
// timeout counts from the beginning of a transaction of the client: then none is
// shared.
func (db *Database) beginReading(share bool) (*transaction, error) {
	if !share || db.defaults.Timeout != 0 {
		return db.begin()
	}
	if db.closed.Load() {
		return nil, kv.ErrClosed
	}
	return newReading(db), nil
}

// forReading returns the attempt in which to read.
func (t *transaction) forReading() (*attempt, error) {
	if err := t.ended(); err != nil {
		return nil, err
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	if a := t.shared.Load(); a != nil {
		return a, nil
	}
	return t.join()
}

// join has the transaction read in the group that gathers.
func (t *transaction) join() (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*attempt{t.current.Load(), t.shared.Load()} {
		if a != nil {
			return a, nil
		}
	}
	g, err := t.db.groups.join(t.db)
	if err != nil {
		return nil, err
	}
	a := newAttempt(g.handle, g.tr, g)
	t.db.adopt(a)
	t.shared.Store(a)
	if t.over.Load() {
		a.leave()
	}
	return a, nil
}

// leave gives up the reads of an attempt that shares its handle.
func (a *attempt) leave() {
	a.futures.giveUp(newError(kv.CodeTransactionCancelled, "a read of a transaction that has ended"))
}

// own returns the attempt that the transaction has for itself, which may have
// to be made first. Then own waits for the read version of the group. The end of
// the retry loop's context and Close end that.
func (t *transaction) own() (*attempt, error) {
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	tr, err := t.db.create()
	if err != nil {
		return nil, err
	}
	if shared := t.shared.Load(); shared != nil {
		if err := shared.repeat(tr, t.reads); err != nil {
			return nil, err
		}
	}
	return t.become(tr), nil
}

// become makes a transaction of the client the transaction's own.
func (t *transaction) become(tr fdb.Transaction) *attempt {
	t.tr, t.reads = tr, nil
	t.renew(handleOf(tr))
	return t.current.Load()
}

// alone is own for what forgets or ends everything read so far: reads of the
// group are given up, and its version is not waited for.
func (t *transaction) alone() (*attempt, error) {
	if shared := t.shared.Load(); shared != nil {
		shared.leave()
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	tr, err := t.db.create()
	if err != nil {
		return nil, err
	}
	return t.become(tr), nil
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

// refused reports whether a read ended with an error that it has had before, since
// it cannot be made. It adds no conflict then.
func refused(err error) bool {
	code := kv.CodeOf(err)
	return code != 0 && !givenUp(code) && !kv.IsRetryable(err)
}

// awaitShared returns the future of a call that is made when the group has
// started. call must copy what it is made with.
func awaitShared[T any](a *attempt, call func(handle) *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	p := &pending[T]{attempt: a, owner: a.futures, what: what, take: take, call: call}
	a.futures.queue(p)
	a.group.enqueue(p)
	return kv.NewFuture[T](p)
}

// readShared is awaitShared for a read, which is noted, and made as a snapshot
// read: in a group nothing conflicts.
func readShared[T any](r reader, a *attempt, call func(h handle, snapshot bool) *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	if own := r.t.note(sharedRead{call, r.snapshot}); own != nil {
		return await(own, call(own.handle, r.snapshot), what, take)
	}
	return awaitShared(a, func(h handle) *cFuture { return call(h, true) }, what, take)
}

// note has own repeat a read, and returns nil, or what own has returned meanwhile.
func (t *transaction) note(read sharedRead) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a
	}
	t.reads = append(t.reads, read)
	return nil
}

// getShared is Get in a group. The metadata version is there once for all.
func (r reader) getShared(a *attempt, key []byte) kv.Future[[]byte] {
	if r.snapshot && string(key) == kv.MetadataVersionKey && r.t.note(sharedRead{getMetadataVersion, true}) == nil {
		return a.metadataVersion()
	}
	key = bytes.Clone(key)
	return readShared(r, a, func(h handle, snapshot bool) *cFuture { return h.get(key, snapshot) }, "Get", takeValue)
}

func getMetadataVersion(h handle, snapshot bool) *cFuture {
	return h.get([]byte(kv.MetadataVersionKey), snapshot)
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

func (promised) issue()           {}
func (p promised) fail(err error) { p.Resolve(nil, err) }
