// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// pendingRead is a read that may wait for the disk or take long. One of the
// database's goroutines makes it; the transaction is not locked meanwhile: its
// reads overlap, and Cancel, Reset, OnError and the timeout resolve the futures of
// those that are under way.
//
// Handing a read to another goroutine costs more than most reads do. So the only
// read of a transaction is held back until another begins, the commit begins, or a
// goroutine asks for the result. If nothing can end the wait of that goroutine, it makes
// the read itself.
type pendingRead[T any] struct {
	kv.Promise[T]
	tx    *Transaction
	place int         // in tx.pending, -1 if the transaction has given the read up; guarded by tx.mu
	quit  atomic.Bool // the transaction has given the read up

	read   func(quit *atomic.Bool) // makes the read; the transaction is not locked
	finish func() (T, error)       // takes what was read into the transaction, which is locked
}

// readTask is a pendingRead of any type.
type readTask interface {
	readers.Task
	giveUp(err error)
	moveTo(place int)
}

// startRead starts a read, or holds it back, and returns its future. t.mu is held.
func startRead[T any](t *Transaction, read func(quit *atomic.Bool), finish func() (T, error)) kv.Future[T] {
	p := newPendingRead(t, read, finish)
	if len(t.pending) == 1 {
		t.heldRead = p
		return kv.NewFuture[T](p)
	}
	t.startHeld()
	t.engine.Start(p)
	return kv.NewFuture[T](p)
}

// newPendingRead enters a read into the transaction. The caller starts it, or holds it
// back. t.mu is held.
func newPendingRead[T any](t *Transaction, read func(quit *atomic.Bool), finish func() (T, error)) *pendingRead[T] {
	p := &pendingRead[T]{tx: t, read: read, finish: finish}
	p.moveTo(len(t.pending))
	t.pending = append(t.pending, p)
	return p
}

// Done implements [kv.PendingResult]. It starts a read that was held back.
func (p *pendingRead[T]) Done() <-chan struct{} {
	t := p.tx
	t.mu.Lock()
	if t.heldRead == readTask(p) {
		t.startHeld()
	}
	t.mu.Unlock()
	return p.Promise.Done()
}

// Drive makes the read in the goroutine that waits for it, if it was held back and
// neither the context nor a timeout can end it.
func (p *pendingRead[T]) Drive(ctx context.Context) {
	if ctx.Done() == nil && p.takeHeld() {
		p.Run()
	}
}

// takeHeld takes a read that was held back from the transaction, for the caller, if
// the transaction has no timeout.
func (p *pendingRead[T]) takeHeld() bool {
	t := p.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heldRead != readTask(p) || t.hasTimeout() {
		return false
	}
	t.heldRead = nil
	return true
}

func (p *pendingRead[T]) moveTo(place int) { p.place = place }

// Run makes the read. The last read of a transaction whose commit has begun goes
// on with the commit.
func (p *pendingRead[T]) Run() {
	if !p.quit.Load() {
		p.read(&p.quit)
	}
	t := p.tx
	t.mu.Lock()
	if p.place < 0 {
		t.mu.Unlock()
		return
	}
	t.endPending(p.place)
	value, err := p.finish()
	var request *txn.Request
	if len(t.pending) == 0 {
		request = t.endReads()
	}
	t.mu.Unlock()
	p.Resolve(value, err)
	if request != nil {
		t.engine.Commit(request)
		t.engine.Drive()
	}
}

// giveUp resolves the future with err and lets the read end.
func (p *pendingRead[T]) giveUp(err error) {
	var none T
	p.place = -1
	p.quit.Store(true)
	p.Resolve(none, err)
}
