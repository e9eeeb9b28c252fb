// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Activation is one life of a virtual actor in this process: from its factory to
// its Deactivate. It runs one call or timer at a time, in the order in which they arrive,
// and has a goroutine only while there is something to run. All methods are safe for
// concurrent use.
type Activation struct {
	kind  *activations // those of its kind and session
	id    string
	epoch int64
	state any // what the factory returned

	next *Activation // of the same bucket, see activations

	mu      sync.Mutex
	more    *extension // what an idle activation does not need; nil: nothing of it
	used    uint32     // when a call began or ended, in usedUnits since the session began
	phase   phase
	running bool // the factory runs, or a goroutine has the mailbox
	leaving bool // it is to be passivated once the mailbox is empty
}

// usedUnit is how exactly an activation knows when it was used. It need not be exact: see
// [Activation.usedSince]. With 32 bits a session may last 497 days until it is wrong.
const usedUnit = 10 * time.Millisecond

type phase uint8

const (
	starting phase = iota // the factory runs
	active
	draining // the mailbox takes no more; its end is the last message
	gone
)

// extension is what an [Activation] has only while something runs, waits or is to come.
type extension struct {
	head, tail *message
	calls      int32                   // that wait or run
	stop       context.CancelCauseFunc // of the context of what runs, if that has one

	ctx    context.Context // what Context returns, once it was asked for
	cancel context.CancelCauseFunc
	cause  error // with which contexts end, if they have
	timers map[*Timer]struct{}
	ending *ending
}

// isIdle reports whether the activation can do without it.
func (m *extension) isIdle() bool {
	return m.head == nil && m.calls == 0 && m.stop == nil && m.ctx == nil && m.cause == nil && len(m.timers) == 0 && m.ending == nil
}

// extensions keeps those that are not needed any more.
var extensions = sync.Pool{New: func() any { return new(extension) }}

// Key returns the key.
func (a *Activation) Key() placement.Key { return placement.Key{Kind: a.kind.kind.name, ID: a.id} }

// Epoch returns the epoch: greater than that of every activation of the key before,
// wherever that was.
func (a *Activation) Epoch() int64 { return a.epoch }

// Owner returns the member that has the activation: this process, in the incarnation that it had
// when it claimed the key.
func (a *Activation) Owner() placement.Owner { return a.kind.session.owner }

// Fence returns the condition that no other owner has the key: for
// persistable's DB.Under, and for [leasefdb.Fence.Under]. What is written under
// it is refused with a [leasefdb.ErrLeaseLost] that is a [placement.ErrActivationLost], too, once another has
// claimed the key. No clock is asked. It reads one key, which calls do not write.
func (a *Activation) Fence() leasefdb.Fence {
	return a.kind.session.fence(a.Key(), a.epoch)
}

// Passivate ends the activation once its mailbox is empty, without waiting for it to be
// idle. If a call comes before the end it stays, and has to be asked again.
func (a *Activation) Passivate() {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	a.leave()
}

// leave asks for the end if that is wanted and nothing runs.
func (a *Activation) leave() {
	a.mu.Lock()
	now := a.leaving && !a.running && a.phase == active
	if now {
		a.leaving = false
	}
	a.mu.Unlock()
	if now {
		a.kind.session.driver.Passivate(a.Key(), a.epoch)
	}
}

// Context returns a context that ends with the activation. Its cause is then
// [ErrDeactivated], or [placement.ErrActivationLost] if another owner may have the key: because the
// membership was lost or could not be renewed until its deadline, which is counted from before the
// renewal was sent, or because the fence said so. The contexts of calls and timers end with it.
func (a *Activation) Context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.extend()
	if m.ctx == nil {
		m.ctx, m.cancel = context.WithCancelCause(a.kind.session.ctx)
		if m.cause != nil {
			m.cancel(m.cause)
		}
	}
	return m.ctx
}

// extend returns the extension. The caller holds the mutex.
func (a *Activation) extend() *extension {
	if a.more == nil {
		a.more = extensions.Get().(*extension)
	}
	return a.more
}

// post puts a message into the mailbox. It returns errDraining if it is for
// the next incarnation.
func (a *Activation) post(m *message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase > active {
		return errDraining
	}
	more := a.extend()
	if calls := int(more.calls); calls >= a.kind.session.options.Mailbox {
		return &MailboxFullError{Key: a.Key(), Waiting: calls}
	}
	more.calls++
	a.used = a.kind.session.sinceStart()
	a.push(m)
	return nil
}

// push appends a message and sees that it is run. The caller holds the mutex.
func (a *Activation) push(m *message) {
	more := a.extend()
	if more.tail == nil {
		more.head = m
	} else {
		more.tail.next = m
	}
	more.tail = m
	if !a.running {
		a.running = true
		go a.run()
	}
}

// run runs messages until there are no more.
func (a *Activation) run() {
	ended := false
	defer func() {
		if !ended { // a handler has called runtime.Goexit
			go a.run()
		}
	}()
	for m := a.pop(); m != nil; m = a.pop() {
		a.runMessage(m)
	}
	ended = true
	a.leave()
}

// runMessage runs a message, and counts a call as a use of the activation.
func (a *Activation) runMessage(m *message) {
	if c, ok := m.work.(*call); ok {
		defer a.noteCalled(c)
	}
	m.work.run(a)
}

// pop takes the next message. If there is none, the goroutine is done.
func (a *Activation) pop() *message {
	a.mu.Lock()
	defer a.mu.Unlock()
	more := a.extend()
	m := more.head
	if m == nil {
		a.running = false
		a.shrink()
		return nil
	}
	if more.head = m.next; more.head == nil {
		more.tail = nil
	}
	m.next = nil
	return m
}

// shrink gives back what an idle activation does not need. The caller holds the
// mutex.
func (a *Activation) shrink() {
	if m := a.more; m != nil && m.isIdle() {
		a.more = nil
		*m = extension{}
		extensions.Put(m)
	}
}

// noteCalled counts a call that has ended as a use of the activation.
func (a *Activation) noteCalled(c *call) {
	a.mu.Lock()
	a.more.calls--
	a.used = a.kind.session.sinceStart()
	a.mu.Unlock()
	a.kind.session.noteCalled(a, c)
}

// within returns the context of something that runs: it ends with the
// activation and with the caller's, whose deadline it has. The function
// frees it.
func (a *Activation) within(caller context.Context, chain []placement.Key) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a.kind.session.ctx)
	a.setCancel(cancel)
	deadline, bounded := caller.Deadline()
	stop := context.AfterFunc(caller, func() {
		if caller.Err() != context.DeadlineExceeded || !bounded {
			cancel(context.Cause(caller))
		}
	})
	end := context.CancelFunc(func() {})
	if bounded {
		ctx, end = context.WithDeadline(ctx, deadline)
	}
	return context.WithValue(ctx, chainKey{}, chain), func() {
		stop()
		end()
		a.setCancel(nil)
		cancel(context.Canceled)
	}
}

// setCancel keeps what ends the context of what runs.
func (a *Activation) setCancel(cancel context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.extend()
	m.stop = cancel
	if cancel != nil && m.cause != nil {
		cancel(m.cause)
	}
}

// usedSince reports whether there were calls after a time, and when the last was.
// The caller holds the mutex.
func (a *Activation) usedSince(since time.Time) (time.Time, bool) {
	s := a.kind.session
	if a.more != nil && a.more.calls > 0 {
		return time.Now(), true
	}
	used := s.began.Add(time.Duration(a.used) * usedUnit)
	return used, used.After(since)
}
