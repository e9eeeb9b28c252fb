// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// pendingRead is a read that may wait for the disk or take long. One of the
// database's goroutines makes it; the transaction is not locked while it does: its
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

	work readWork[T]
}

// readWork is what a pendingRead is to do.
type readWork[T any] interface {
	makeRead(quit *atomic.Bool) // makes the read; the transaction is not locked
	finishRead() (T, error)     // takes what was read into the transaction, which is locked
}

// pendingGet is a pendingRead of one key.
type pendingGet struct {
	pendingRead[[]byte]
	pointRead
	room [40]byte // for most keys
}

func (g *pendingGet) makeRead(*atomic.Bool) { g.readStored() }

func (g *pendingGet) finishRead() ([]byte, error) {
	return slices.Clip(g.pointRead.value), g.tx.keepReadError(g.pointRead.err)
}

// pendingCall is a pendingRead that calls functions.
type pendingCall[T any] struct {
	pendingRead[T]
	read   func(quit *atomic.Bool)
	finish func() (T, error)
}

func (c *pendingCall[T]) makeRead(quit *atomic.Bool) { c.read(quit) }
func (c *pendingCall[T]) finishRead() (T, error)     { return c.finish() }

// readTask is a pendingRead of any type.
type readTask interface {
	reads.Task
	giveUp(err error)
	moveTo(place int)
}

// startCall starts a read that calls functions: see startRead. t.mu is held.
func startCall[T any](t *Transaction, read func(quit *atomic.Bool), finish func() (T, error)) kv.Future[T] {
	c := &pendingCall[T]{read: read, finish: finish}
	return startRead(t, c.enter(t, c))
}

// startRead starts a read that was entered, or holds it back, and returns its future.
// t.mu is held.
func startRead[T any](t *Transaction, p *pendingRead[T]) kv.Future[T] {
	if len(t.pending) == 1 {
		t.heldRead = p
	} else {
		t.startHeld()
		t.engine.Start(p)
	}
	return kv.NewFuture[T](p)
}

// newPendingGet enters the read of a key that memory did not have. t.mu is held.
func newPendingGet(t *Transaction, p *pointRead, key []byte) *pendingRead[[]byte] {
	g := &pendingGet{pointRead: *p}
	g.key = append(g.room[:0], key...)
	return g.enter(t, g)
}

// enter enters a read into the transaction. The caller starts it, or holds it back.
// t.mu is held.
func (p *pendingRead[T]) enter(t *Transaction, work readWork[T]) *pendingRead[T] {
	if t.pending == nil {
		t.pending = t.firstPending[:0]
	}
	p.tx, p.work, p.place = t, work, len(t.pending)
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

// Run makes the read. If the transaction's commit has begun, its last read goes
// on with the commit.
func (p *pendingRead[T]) Run() {
	if !p.quit.Load() {
		p.work.makeRead(&p.quit)
	}
	t := p.tx
	t.mu.Lock()
	if p.place < 0 {
		t.mu.Unlock()
		return
	}
	t.endPending(p.place)
	value, err := p.work.finishRead()
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

const (
	// atOnce is how many steps a read takes while the transaction is locked; one
	// that is known to need more gives up after atOnceIfFar.
	atOnce      = 4096
	atOnceIfFar = 64
)

// answer makes a read over own writes and what the database holds: at once if the
// view is in memory and the read is short, else by a goroutine, with the own writes
// and the version of now. walk reads, with t.mu held or not; note takes what was read
// into the transaction, with t.mu held. long says that many steps are likely. t.mu is
// held.
//
// A read that is made at once keeps t.mu: it walks over the own writes and the known
// keys in place. A copy would make each write that follows copy nodes of the map.
func answer[A, T any](t *Transaction, snapshot, long bool, walk func(*overlay) (A, error), note func(*overlay, A) (T, error)) kv.Future[T] {
	s := newOverlay(t, snapshot)
	s.budget.Most = atOnce
	if long {
		s.budget.Most = atOnceIfFar
	}
	a, err := walkToEnd(s, walk)
	if err == reads.ErrNotAtHand {
		return answerLater(t, s, snapshot, walk, note)
	}
	return kv.Resolved(noteRead(t, s, a, err, note))
}

// answerLater lets a goroutine make a read that could not be made at once.
func answerLater[A, T any](t *Transaction, s *overlay, snapshot bool, walk func(*overlay) (A, error), note func(*overlay, A) (T, error)) kv.Future[T] {
	v, err := t.currentView()
	if err != nil {
		var none T
		return kv.Resolved(none, t.keepReadError(err))
	}
	s.restartDetached(v, snapshot)
	var a A
	read := func(quit *atomic.Bool) {
		s.budget.Abandon = quit
		a, err = walkToEnd(s, walk)
	}
	return startCall(t, read, func() (T, error) { return noteRead(t, s, a, err, note) })
}

// walkToEnd walks and releases what the walk has held.
func walkToEnd[A any](s *overlay, walk func(*overlay) (A, error)) (A, error) {
	a, err := walk(s)
	if closed := s.close(); closed != nil && (err == nil || closed == reads.ErrNotAtHand) {
		err = closed
	}
	return a, err
}

// noteRead takes a read that has ended into the transaction. A read that met an
// unreadable key has told what lies before it: FoundationDB's client caches each
// reply as it arrives. t.mu is held.
func noteRead[A, T any](t *Transaction, s *overlay, a A, err error, note func(*overlay, A) (T, error)) (result T, _ error) {
	if err == nil || kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		t.addKnownFrom(s)
	}
	if err == nil {
		result, err = note(s, a)
	}
	if err != nil {
		var none T
		return none, t.keepReadError(err)
	}
	return result, nil
}

// AppendGets is called by [kv.AppendGets].
func (t *Transaction) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	return t.appendGets(futures, keys, false)
}

// manyAtOnce is how many reads appendGets makes with one locking of the transaction.
const manyAtOnce = 32

// appendGets is a get of each key. It locks the transaction, fixes the view and looks
// at its age once for manyAtOnce reads, and lets the processor load what memory has
// of all of them before it looks at the first.
func (t *Transaction) appendGets(futures []kv.Future[[]byte], keys [][]byte, snapshot bool) []kv.Future[[]byte] {
	before := len(futures)
	futures = slices.Grow(futures, len(keys))[:before+len(keys)]
	started := futures[before:]
	for first := 0; first < len(keys); first += manyAtOnce {
		last := min(first+manyAtOnce, len(keys))
		t.getSome(keys[first:last], snapshot, started[first:last])
	}
	return futures
}

// getSome is appendGets for at most manyAtOnce keys.
func (t *Transaction) getSome(keys [][]byte, snapshot bool, futures []kv.Future[[]byte]) {
	var reads [manyAtOnce]pointRead
	var view View
	t.mu.Lock()
	for i, key := range keys {
		p, err := t.beginGet(key, snapshot, view)
		if err != nil {
			p.answered, futures[i] = true, kv.Resolved[[]byte](nil, err)
		} else if p.answered {
			futures[i] = kv.Resolved(slices.Clip(p.value), nil)
		} else {
			view = p.view
		}
		reads[i] = p
	}
	t.mu.Unlock()
	if view == nil {
		return
	}
	view.Prefetch(keys)
	missed := 0
	for i, key := range keys {
		if p := &reads[i]; p.answered {
			continue
		} else if p.readCached(key) {
			futures[i] = kv.Resolved(slices.Clip(p.value), nil)
		} else {
			missed++
		}
	}
	if missed > 0 {
		t.finishMany(reads[:len(keys)], keys, futures, missed)
	}
}

// finishMany goes on with the reads that memory has not answered, of which there are
// so many.
func (t *Transaction) finishMany(points []pointRead, keys [][]byte, futures []kv.Future[[]byte], missed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tasks := make([]reads.Task, 0, missed)
	for i := range points {
		if points[i].answered {
			continue
		}
		if err := t.checkGoesOn(&points[i]); err != nil {
			futures[i] = kv.Resolved[[]byte](nil, err)
			continue
		}
		read := newPendingGet(t, &points[i], keys[i])
		futures[i], tasks = kv.NewFuture[[]byte](read), append(tasks, read)
	}
	if len(tasks) == 1 && len(t.pending) == 1 {
		t.heldRead = t.pending[0]
		return
	}
	t.startHeld()
	for some := range slices.Chunk(tasks, readsInTask) {
		t.engine.Start(taskGroup(some))
	}
}

// readsInTask is how many reads of an appendGets a goroutine makes one after the other.
// More would save the start of a goroutine, and wait longer for a slow disk.
const readsInTask = 8

// taskGroup is tasks that one goroutine runs one after the other.
type taskGroup []reads.Task

// Run implements [reads.Task].
func (g taskGroup) Run() {
	for _, t := range g {
		t.Run()
	}
}
