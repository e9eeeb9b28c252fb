// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

/*
#define FDB_API_VERSION 730
#include <stdint.h>
#include <foundationdb/fdb_c.h>

extern void kazahanaReady(uintptr_t waiter);

static void kz_ready(FDBFuture* f, void* waiter) {
	(void)f;
	kazahanaReady((uintptr_t)waiter);
}

// kz_await has kazahanaReady called once the future is ready, perhaps at once.
static fdb_error_t kz_await(FDBFuture* f, uintptr_t waiter) {
	return fdb_future_set_callback(f, kz_ready, (void*)waiter);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// pendingResult is a [kv.PendingResult] over a future of the client. The client calls back
// only if a goroutine waits before the future is ready. The callback closes a
// channel, so no goroutine and no thread waits in C.
//
// The client's future is freed when its result is taken: by the caller, or when the
// attempt that it belongs to is released or garbage. While the client is to call
// back, the handle of the callback keeps the pendingResult, and so the attempt, alive.
type pendingResult[T any] struct {
	attempt *attempt // nil: of a watch, which outlives its transaction
	owner   *futures
	slot    int
	what    string
	take    func(*cFuture) (T, cCode)
	kind    readKind
	watched *versionCache   // of a watch: it expires when the program may know of the change
	cleanup runtime.Cleanup // of a watch
	ended   atomic.Bool     // the attempt was released: ready takes the result

	mu    sync.Mutex
	call  func(*handle) *cFuture // the call that is yet to be made; nil: it was made, or was given up
	c     *cFuture               // nil: call is yet to be made, or the result was taken
	done  chan struct{}          // nil: no goroutine has waited
	value T
	err   error
}

// beginLocked takes a future that the client has returned; nil: it was not asked.
func (p *pendingResult[T]) beginLocked(k keptFuture) {
	kept := false
	if k.c != nil {
		if p.slot, kept = p.attempt.keep(k, p); !kept {
			C.fdb_future_destroy(k.c)
		}
	}
	if kept {
		p.c = k.c
		return
	}
	end := p.attempt.isDestroyed()
	if end == 0 {
		end = kv.CodeTransactionCancelled
	}
	p.failLocked(p.owner.errorOf(cCode(end), p.what))
}

// Done implements [kv.PendingResult].
func (p *pendingResult[T]) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.done != nil:
		return p.done
	case p.readyLocked():
		p.tellChange()
		return alreadyDone
	}
	p.done = make(chan struct{})
	if p.call == nil {
		callBack(p.c, p)
	}
	return p.done
}

// callBack has the client call w.ready once c is ready, perhaps at once.
func callBack(c *cFuture, w waiter) {
	h := cgo.NewHandle(w)
	if code := C.kz_await(c, C.uintptr_t(h)); code != 0 { // never seen: it would be of no use to wait
		h.Delete()
		w.ready()
	}
}

// Ready is asked by [kv.Future.Ready]: it does not make the client call back.
func (p *pendingResult[T]) Ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ready := p.readyLocked()
	if ready {
		p.tellChange()
	}
	return ready
}

// tellChange is called before the program can see that a watch is ready: what it reads then must
// have the change.
func (p *pendingResult[T]) tellChange() {
	if p.watched != nil {
		p.watched.expire()
	}
}

func (p *pendingResult[T]) readyLocked() bool {
	return p.call == nil && (p.c == nil || C.fdb_future_is_ready(p.c) != 0)
}

var alreadyDone = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// ready implements waiter. It may be called while p.mu is held by Done, issue or Cancel.
func (p *pendingResult[T]) ready() {
	p.tellChange()
	close(p.done)
	if p.ended.Load() {
		go p.conclude(true)
	}
}

// conclude implements [concluder].
func (p *pendingResult[T]) conclude(final bool) {
	if final {
		p.ended.Store(true)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.c == nil:
	case p.calledBackLocked() && p.readyLocked():
		p.takeLocked(p.take(p.c))
	case final && p.done == nil:
		var none T
		p.takeLocked(none, cCode(kv.CodeTransactionCancelled))
	}
}

// calledBackLocked reports whether the client will not call back any more.
func (p *pendingResult[T]) calledBackLocked() bool {
	if p.done == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Result implements [kv.PendingResult].
func (p *pendingResult[T]) Result() (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c != nil {
		p.takeLocked(p.take(p.c))
	}
	return p.value, p.err
}

// takeLocked makes value and code the result, and destroys the client's future.
func (p *pendingResult[T]) takeLocked(value T, code cCode) {
	p.tellChange()
	if code != 0 {
		p.err = p.owner.errorOf(code, p.what)
	} else if p.err = p.attempt.noteVersion(p.kind); p.err == nil {
		p.value = value
	}
	if p.attempt != nil {
		p.attempt.forget(p.slot)
	} else {
		p.owner.remove(p.slot)
	}
	C.fdb_future_destroy(p.c)
	p.c = nil
	p.cleanup.Stop()
	runtime.KeepAlive(p.attempt)
	p.attempt, p.take = nil, nil
}

// Cancel implements [kv.PendingResult].
func (p *pendingResult[T]) Cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.call != nil:
		p.failLocked(p.owner.errorOf(cCode(kv.CodeOperationCancelled), p.what))
	case p.c != nil:
		C.fdb_future_cancel(p.c)
	}
}

// issue implements [queuedRead].
func (p *pendingResult[T]) issue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call == nil {
		return
	}
	call := p.call
	p.call = nil
	p.beginLocked(keptFuture{c: call(p.attempt.handle)})
	if p.c != nil && p.done != nil {
		callBack(p.c, p)
	}
}

// fail implements [queuedRead].
func (p *pendingResult[T]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != nil {
		p.failLocked(err)
	}
}

func (p *pendingResult[T]) failLocked(err error) {
	p.call, p.attempt, p.take, p.err = nil, nil, nil, err
	if p.done != nil {
		close(p.done)
	}
}

// futures are the client's futures of one attempt, or the watches of a database,
// as long as their results were not taken. The type does not know the goroutines that wait for them.
type futures struct {
	mu       sync.Mutex
	all      []keptFuture
	free     []int        // slots of all
	queued   []queuedRead // reads that the client was not asked for yet
	promised []*kv.Promise[[]byte]
	closed   error // why they were given up; nil: they were not
	released bool  // no future is kept any more
}

// queuedRead is a read that the client was not asked for yet. Its methods may be
// called while no lock of futures is held.
type queuedRead interface {
	issue()     // asks the client, unless the read has failed
	fail(error) // makes the error the result, unless the client was asked
}

// keptFuture is a future in its slot. giveUp cancels it unless it is a commit.
type keptFuture struct {
	c      *cFuture // nil: the slot is free
	commit bool
}

func (k keptFuture) giveUp() {
	if k.c != nil && !k.commit {
		C.fdb_future_cancel(k.c)
	}
}

// add keeps a future and returns its slot.
func (s *futures) add(k keptFuture) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(k)
}

func (s *futures) addLocked(k keptFuture) int {
	if s.closed != nil {
		k.giveUp()
	}
	if last := len(s.free) - 1; last >= 0 {
		slot := s.free[last]
		s.free = s.free[:last]
		s.all[slot] = k
		return slot
	}
	s.all = append(s.all, k)
	return len(s.all) - 1
}

// queue keeps a read that the client was not asked for yet. If everything was
// given up, it returns why, and the caller fails the read.
func (s *futures) queue(q queuedRead) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.queued = append(s.queued, q)
	}
	return s.closed
}

// takeQueued returns the queued reads, and forgets them.
func (s *futures) takeQueued() []queuedRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := s.queued
	s.queued = nil
	return queued
}

// promise keeps a promise of the group's metadata version, like queue.
func (s *futures) promise(p *kv.Promise[[]byte]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.promised = append(s.promised, p)
	}
	return s.closed
}

// takePromised returns the promises, and forgets them.
func (s *futures) takePromised() []*kv.Promise[[]byte] {
	s.mu.Lock()
	defer s.mu.Unlock()
	promised := s.promised
	s.promised = nil
	return promised
}

// release gives up what is left, and has no future kept any more.
func (s *futures) release() {
	s.mu.Lock()
	s.released = true
	closed := s.closed
	s.mu.Unlock()
	if closed == nil {
		closed = errEnded
	}
	s.giveUp(closed)
}

// errEnded is the error of results that have not arrived when their transaction ends.
var errEnded error = newError(kv.CodeTransactionCancelled, "the transaction, or this attempt of it, has ended")

// remove forgets a future, which the caller destroys.
func (s *futures) remove(slot int) *cFuture {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removeLocked(slot)
}

func (s *futures) removeLocked(slot int) *cFuture {
	c := s.all[slot].c
	s.all[slot] = keptFuture{}
	s.free = append(s.free, slot)
	return c
}

// hasOutstanding reports whether there may be a future with a result that was not taken.
func (s *futures) hasOutstanding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.free) < len(s.all) || len(s.queued)+len(s.promised) > 0
}

// destroyAbandoned frees a future with a result that no caller can ask for any more.
func (s *futures) destroyAbandoned(slot int) { C.fdb_future_destroy(s.remove(slot)) }

// giveUp cancels all futures: their results become err unless they are known.
func (s *futures) giveUp(err error) {
	s.cancelAll(err)
	for _, q := range s.takeQueued() {
		q.fail(err)
	}
	for _, p := range s.takePromised() {
		p.Resolve(nil, err)
	}
}

// cancelAll cancels the futures of the client. No read is queued any more.
func (s *futures) cancelAll(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
	for _, k := range s.all {
		k.giveUp()
	}
}

// destroy frees all futures. No caller can ask for their results any more.
func (s *futures) destroy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.all {
		if k.c != nil {
			C.fdb_future_destroy(k.c)
		}
	}
	s.all = nil
}

// errorOf returns the error of a future. The client does not say whether a commit that its
// transaction's time limit ends had begun.
func (s *futures) errorOf(code cCode, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil && isCancellation(kv.Code(code)) {
		return s.closed
	}
	switch {
	case what != commitCall:
		return newReadError(kv.Code(code), what)
	case kv.Code(code) == kv.CodeTransactionTimedOut:
		return fmt.Errorf("fdbkv: the commit may go on: %w: %w", kv.ErrOutcomeUnknown, newError(kv.Code(code), what))
	}
	return newError(kv.Code(code), what)
}

// isCancellation reports whether a code is that of a future that was cancelled.
func isCancellation(code kv.Code) bool {
	return code == kv.CodeOperationCancelled || code == kv.CodeTransactionCancelled
}
