// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// attempt is what a transaction does between two resets. Its futures keep it alive,
// and with it the client's transaction. release frees the results that no caller
// took. Of an attempt that is never released, the collector does.
type attempt struct {
	*handle
	futures *futures
	version readVersion
	retried bool        // an attempt of the same loop was before it
	watches atomic.Bool // it has made a watch
	results []concluder // by the slots of futures; the mu of futures guards it; nil: taken
	cleanup runtime.Cleanup
	group   *group // nil: handle belongs to this transaction alone
	place   int    // among the members of group; the mu of group guards it
}

// concluder is a result that may have to be taken from the client.
type concluder interface {
	// conclude takes the result if it has arrived. If final is set, a result that has
	// not is CodeTransactionCancelled, at once or when the client says so.
	conclude(final bool)
}

func newAttempt(h *handle, versions *versionCache) *attempt {
	return &attempt{handle: h, futures: &futures{}, version: readVersion{cache: versions}}
}

// keep keeps a future until its result is taken, and reports false if the attempt was
// released.
func (a *attempt) keep(k keptFuture, r concluder) (slot int, ok bool) {
	s := a.futures
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return 0, false
	}
	slot = s.addLocked(k)
	if slot == len(a.results) {
		a.results = append(a.results, nil)
	}
	a.results[slot] = r
	return slot, true
}

// isUsed reports whether the attempt has read, watched or written something.
func (a *attempt) isUsed() bool {
	a.futures.mu.Lock()
	defer a.futures.mu.Unlock()
	return len(a.results) > 0 || a.written.Load() > 0 || a.watches.Load()
}

// forget forgets a future, which the caller destroys.
func (a *attempt) forget(slot int) {
	a.futures.mu.Lock()
	defer a.futures.mu.Unlock()
	a.results[slot] = nil
	a.futures.removeLocked(slot)
}

// concludeAll concludes the results that no caller has taken.
func (a *attempt) concludeAll(final bool) {
	a.futures.mu.Lock()
	var left []concluder
	for _, r := range a.results {
		if r != nil {
			left = append(left, r)
		}
	}
	a.futures.mu.Unlock()
	for _, r := range left {
		r.conclude(final)
	}
}

// release ends the attempt: no read of it waits any more, and it holds nothing of the
// client but its handle.
func (a *attempt) release() {
	a.cleanup.Stop()
	a.concludeAll(false)
	a.futures.release()
	a.concludeAll(true)
	if a.group != nil {
		a.group.leave(a)
	}
}

// await returns the future of c; nil: the client was not asked.
func await[T any](a *attempt, c *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	return kv.NewFuture[T](newPendingResult(a, keptFuture{c: c}, noRead, what, take))
}

// awaitRead is await for a read: the attempt's version is noted before the program gets its result.
func awaitRead[T any](a *attempt, kind readKind, c *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	return kv.NewFuture[T](newPendingResult(a, keptFuture{c: c}, kind, what, take))
}

func newPendingResult[T any](a *attempt, k keptFuture, kind readKind, what string, take func(*cFuture) (T, cCode)) *pendingResult[T] {
	p := &pendingResult[T]{attempt: a, owner: a.futures, what: what, take: take, kind: kind}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beginLocked(k)
	return p
}

// awaitWatch returns a future that does not keep its transaction alive, and is
// freed when it is garbage.
func awaitWatch(owner *futures, c *cFuture, versions *versionCache) kv.Future[struct{}] {
	p := &pendingResult[struct{}]{owner: owner, slot: owner.add(keptFuture{c: c}), what: "watch", take: takeNothing, watched: versions, c: c}
	p.cleanup = runtime.AddCleanup(p, owner.destroyAbandoned, p.slot)
	return kv.NewFuture[struct{}](p)
}

// giveUpReads gives up the reads of an attempt that shares its handle.
func (a *attempt) giveUpReads() { a.futures.giveUp(errEnded) }

// repeatReads makes the attempt's reads again, at the attempt's version, in a new
// transaction of the client: at once those that ran at once. What a read leaves in the
// client's cache may change the conflict range of a later one. The new futures belong to
// the attempt, so repeatReads stops waiting for them when the attempt ends.
func (a *attempt) repeatReads(h *handle, reads []sharedRead) error {
	version, err := awaitShared(a, (*handle).readVersion, "GetReadVersion", takeNumber).Get(context.Background())
	if err != nil {
		return err
	}
	h.setReadVersion(version)
	var running []kv.Future[struct{}]
	for _, read := range reads {
		if read.alone {
			if err := awaitRepeated(running); err != nil {
				return err
			}
			running = nil
		}
		running = append(running, await(a, read.call(h, read.snapshot), "repeating a read", takeNothing))
	}
	return awaitRepeated(running)
}

func awaitRepeated(running []kv.Future[struct{}]) error {
	for _, again := range running {
		if _, err := again.Get(context.Background()); err != nil && !isRefusal(err) {
			return err
		}
	}
	return nil
}

// metadataVersion reads the metadata version of the attempt's group.
func (a *attempt) metadataVersion() kv.Future[[]byte] {
	p := kv.NewPromise[[]byte]()
	if !a.group.awaitMetadata(a, p) {
		return kv.Resolved(a.group.metadataVersion())
	}
	return p.Future()
}

// readVersion is what is known of the version that an attempt reads at. The zero request of an attempt that
// has read is a version that is not known.
type readVersion struct {
	cache   *versionCache
	once    sync.Once // see fix
	weak    int64     // it was taken from the cache; 0: it was not
	least   int64     // it must not be older
	request atomic.Pointer[versionRequest]
}

// versionRequest is a version that was asked for. noted has nothing to do.
type versionRequest struct {
	result *pendingResult[int64]
	asked  time.Time
}

var noted = new(versionRequest)

// askVersion asks for the version that the client reads at, if weak reads or the transaction need to know it.
func (a *attempt) askVersion() {
	if !a.version.cache.used.Load() && a.version.least == 0 {
		return
	}
	asked := time.Now()
	result := newPendingResult(a, keptFuture{c: a.readVersion()}, noRead, "GetReadVersion", takeNumber)
	a.version.request.Store(&versionRequest{result, asked})
}

// noteVersion notes the version that the attempt reads at, before the program gets the result of a read. It
// returns an error if the version is too old for the transaction.
func (a *attempt) noteVersion(kind readKind) error {
	if kind == noRead {
		return nil
	}
	v := &a.version
	if a.group != nil {
		v = &a.group.version
	}
	switch r := v.request.Load(); {
	case r == noted:
		return nil
	case r == nil:
		v.cache.expire()
		return nil
	case kind == withVersion:
		<-r.result.Done()
	case !r.result.Ready():
		return nil // what the transaction has written
	}
	return v.note()
}

func (v *readVersion) note() error {
	r := v.request.Load()
	if r == noted {
		return nil
	}
	version, err := r.result.Result()
	if err != nil {
		v.cache.expire()
		return nil
	}
	v.cache.note(version, r.asked)
	err = kv.TransactionOptions{AtLeast: v.least}.CheckVersion(version)
	if err == nil {
		v.request.Store(noted)
	}
	return err
}

// set has the attempt read at the version that the client has or is given: it is not noted.
func (v *readVersion) set() { v.once.Do(func() { v.request.Store(noted) }) }

// leave leaves the version to another one who uses the client's transaction.
func (v *readVersion) leave() { v.once.Do(func() {}) }

// reject forgets the version if it is of the cache.
func (v *readVersion) reject() {
	if v.weak != 0 {
		v.cache.reject(v.weak)
	}
}
